"""What the screens show, as plain data made from messages of the bus: no Textual, no clock, no input or output."""
