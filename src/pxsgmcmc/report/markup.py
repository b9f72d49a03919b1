"""Sentences as HTML."""

from markupsafe import Markup, escape


def with_code(sentence: str) -> Markup:
    """A sentence as HTML, with what stands between backticks set as code.

    Example:
      >>> print(with_code("lower `step_size` < 1"))
      lower <code>step_size</code> &lt; 1
    """
    parts = sentence.split("`")
    if len(parts) % 2 == 0:  # one without its partner
        return escape(sentence)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )
