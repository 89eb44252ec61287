"""What the pages and the API count and chart."""
