"""A file per family of causes. Each is registered by name in `bentpipe.doctor.diagnosis`."""
