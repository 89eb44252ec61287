"""Stock clients of the platform. The modules share a sandbox."""
