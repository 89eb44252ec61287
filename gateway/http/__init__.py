"""What every request meets: the server, who asks, the limits of size and rate, the log line, errors."""
