#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| rorqual_fuzz::server::state(data));
