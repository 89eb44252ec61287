"""How many connections to receivers the limit of file descriptors allows."""

import resource

# For the database, files, name servers, connections that are being closed, and second addresses of a name.
RESERVED = 128
# All attempts of a worker, and as many idle connections again.
MOST_OPEN = 1200


def most_connections() -> int:
    """How many connections to receivers this process may have open."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MOST_OPEN
    return min(MOST_OPEN, limit - min(RESERVED, limit // 2))
