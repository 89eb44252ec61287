"""Health, metrics, logs, traces and ``gateway doctor``, for operators."""
