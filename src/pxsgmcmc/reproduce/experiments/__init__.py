"""One file a table or figure of the paper; `catalogue.py` names them."""
