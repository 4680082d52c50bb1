//! `rorqual serve`
use crate::args::{Common, ServeArgs};
use crate::exit::Exit;
pub(crate) fn run(_: &Common, _: &ServeArgs) -> Exit { Exit::Bad }
