//! Development only: tools of the tests and the benchmark that the product must not carry.
//!
//! * [`generate`]: logs of any size, and hostile files, made the same way every time.
//! * [`paths`]: every path that the same bytes can take, which must give one answer.
//! * [`process`]: the real program, fed, watched and measured from outside.
//! * [`disk`]: disks that can be filled.
//! * [`fault`]: readers and writers that fail at the nth call.
//! * [`folder`]: folders that go with their test.
//! * [`http`]: a server that lies as it is told to.
//! * [`proxy`]: a network that does its worst.
//! * [`websocket`]: the client's end of a WebSocket.
//! * [`many`]: many clients of `rorqual serve` at once.

pub mod disk;
pub mod fault;
pub mod folder;
pub mod generate;
pub mod http;
pub mod many;
pub mod paths;
pub mod process;
pub mod proxy;
pub mod websocket;
