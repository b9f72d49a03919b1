"""Jobs: runs that a process of their own makes; engines start, watch and restart them."""

from pxsgmcmc.jobs.engine import Ended, Engine, JobFailed, Watch
from pxsgmcmc.jobs.job import DIAGNOSE, EVALUATE, SAMPLE, VALIDATE, Job, Stage, missing_stages
from pxsgmcmc.jobs.local import Local

__all__ = [
    "DIAGNOSE",
    "EVALUATE",
    "SAMPLE",
    "VALIDATE",
    "Ended",
    "Engine",
    "Job",
    "JobFailed",
    "Local",
    "Stage",
    "Watch",
    "missing_stages",
]
