"""Runs sent to a store that is no file system, and fetched from it: every byte checked twice.

A store that fsspec reaches (S3, a web server's folder, another disk) holds the files of a run under
the names they have in its directory, and `moving.json`, a sealed list of their sizes and hashes.
The list is written first as "not whole", then come the files, each under another name until it was
read back, then the list as "whole". What is fetched is compared with the list, and the run
directory gets its name when all of it is there and passes `verify`.
"""

from pxsgmcmc.moving.listing import Moved
from pxsgmcmc.moving.pull import pull
from pxsgmcmc.moving.push import push

__all__ = ["Moved", "pull", "push"]
