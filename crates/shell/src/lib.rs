//! The shell of both programs: flags, messages on stderr, exit codes, Ctrl-C, and the watchdog over
//! their memory. The only library that prints and knows flags.

pub mod args;
pub mod exit;
pub mod fitting;
pub mod interrupt;
pub mod message;
pub mod roots;
pub mod watchdog;
