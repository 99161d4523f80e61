"""The instrument: asks questions whose answers are known, and says how good the memory is and where it fails."""
