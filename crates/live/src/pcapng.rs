//! A writer of pcapng captures (draft-ietf-opsawg-pcapng).
