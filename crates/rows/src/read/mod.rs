//! Files of columns as batches: Parquet and Arrow IPC.
