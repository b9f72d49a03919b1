"""`python -m pxsgmcmc` is the command line."""

from pxsgmcmc.cli import entry

if __name__ == "__main__":
    entry()
