//! Keys of the terminal, as long as it is there.

use crossterm::event::poll as poll_events;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::time::Duration;

/// The terminal that keys come from.
///
/// The library reads a terminal that was closed over and over, and never comes back. So it is asked
/// only after a look at the terminal itself, and does not wait.
pub(super) struct KeyInput {
    terminal: File,
}

impl KeyInput {
    /// Standard input, or else the terminal of the process, as the library has it.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn open() -> io::Result<Self> {
        let stdin = io::stdin();
        let terminal = if stdin.is_terminal() {
            stdin.as_fd().try_clone_to_owned()?.into()
        } else {
            File::options().read(true).write(true).open("/dev/tty")?
        };
        Ok(Self { terminal })
    }

    /// Waits for keys; a signal in between is none.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(super) fn wait(&self, patience: Duration) -> io::Result<bool> {
        self.look(Duration::ZERO)?;
        if is_there()? {
            return Ok(true);
        }
        self.look(patience)?;
        is_there()
    }

    /// True if the terminal was closed.
    pub(super) fn is_gone(&self) -> bool {
        self.look(Duration::ZERO).is_err()
    }

    /// Waits for something to read, and refuses a terminal that is gone.
    fn look(&self, patience: Duration) -> io::Result<()> {
        let mut looked = [PollFd::new(&self.terminal, PollFlags::IN)];
        let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
        match poll(&mut looked, Some(&patience)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(cause) => return Err(cause.into()),
        }
        let is_gone = looked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        if is_gone { Err(io::Error::new(io::ErrorKind::NotConnected, "the terminal is gone")) } else { Ok(()) }
    }
}

/// True if there is a key, or another event of the terminal.
fn is_there() -> io::Result<bool> {
    match poll_events(Duration::ZERO) {
        Err(cause) if cause.kind() == io::ErrorKind::Interrupted => Ok(false),
        polled => polled,
    }
}
