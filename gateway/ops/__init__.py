"""What operators look at: health, metrics, logs, traces and ``gateway doctor``."""
