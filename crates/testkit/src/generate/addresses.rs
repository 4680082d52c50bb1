//! An access log in which no client comes back.

use super::{GeneratedLines, GeneratedSummary};
use std::io::{self, Write};

/// Odd, so that multiplying by it is a permutation of 32 bits: addresses in no order, none of them
/// twice.
const STEP: u32 = 0x9e37_79b1;

/// Seconds of a day, after which the log's clock starts again.
const DAY_SECONDS: u32 = 86_400;

struct AddressLog {
    digits: itoa::Buffer,
    number: u32,
}

/// Writes a log of `lines` short lines, each with a client address of its own; at most 2^32 of
/// them.
///
/// # Errors
/// Whatever `out` answers.
pub fn write_addresses_log(lines: u32, out: &mut impl Write) -> io::Result<GeneratedSummary> {
    let mut log = AddressLog { digits: itoa::Buffer::new(), number: 0 };
    let (mut buffer, mut bytes) = (Vec::with_capacity(super::WRITE_BYTES * 2), 0);
    while log.number < lines {
        log.line(&mut buffer);
        if buffer.len() >= super::WRITE_BYTES || log.number == lines {
            out.write_all(&buffer)?;
            bytes += buffer.len() as u64;
            buffer.clear();
        }
    }
    Ok(GeneratedSummary { lines: lines.into(), bytes })
}

impl GeneratedLines for AddressLog {
    fn line(&mut self, out: &mut Vec<u8>) {
        for (at, octet) in self.number.wrapping_mul(STEP).to_be_bytes().into_iter().enumerate() {
            if at > 0 {
                out.push(b'.');
            }
            out.extend_from_slice(self.digits.format(octet).as_bytes());
        }
        let second = self.number / 1000 % DAY_SECONDS;
        let two = |number: u32| [b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8];
        out.extend_from_slice(b" - - [01/Jan/2025:");
        out.extend_from_slice(&two(second / 3600));
        out.push(b':');
        out.extend_from_slice(&two(second / 60 % 60));
        out.push(b':');
        out.extend_from_slice(&two(second % 60));
        out.extend_from_slice(b" +0000] \"GET / HTTP/1.1\" 200 ");
        out.extend_from_slice(self.digits.format(self.number % 1000).as_bytes());
        out.extend_from_slice(b" \"-\" \"-\"\n");
        self.number = self.number.wrapping_add(1);
    }
}
