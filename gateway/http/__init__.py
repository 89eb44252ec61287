"""The parts that every request passes: server, authentication, limits of size and rate, log line, errors."""
