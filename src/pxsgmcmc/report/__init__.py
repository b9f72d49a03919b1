"""The report: what was found out about runs, as one self-contained HTML page."""

from pxsgmcmc.report.page import write_report
from pxsgmcmc.report.reported import Reported

__all__ = ["Reported", "write_report"]
