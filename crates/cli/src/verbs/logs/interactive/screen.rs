//! The terminal as a screen of cells, which is left as it was found.

use super::draw::{ScreenCells, ScreenPalette};
use anstream::ColorChoice;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::style::{Attribute, Color, Print, ResetColor, SetAttribute, SetForegroundColor};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{execute, queue};
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color as CellColor, Modifier};
use std::io::{self, BufWriter, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most columns and rows that are drawn; a terminal may claim any.
const COLUMNS_MAX: u16 = 400;
const ROWS_MAX: u16 = 150;

/// Bytes of drawing that are written at once.
const WRITE_BYTES: usize = 32 << 10;

/// True while the terminal is ours.
static IS_ENTERED: AtomicBool = AtomicBool::new(false);

/// The terminal, until it is dropped.
pub(super) struct TerminalScreen {
    out: BufWriter<Stdout>,
    /// The cells that the terminal shows.
    shown: Buffer,
    palette: ScreenPalette,
}

impl TerminalScreen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When there is none, or it can't be set.
    pub(super) fn enter() -> io::Result<Self> {
        restore_at_panic();
        let has_colours = anstream::AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        let mut screen = Self {
            out: BufWriter::with_capacity(WRITE_BYTES, io::stdout()),
            shown: Buffer::empty(Rect::ZERO),
            palette: ScreenPalette { has_colours },
        };
        screen.resume()?;
        Ok(screen)
    }

    /// Takes the terminal again.
    pub(super) fn resume(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        IS_ENTERED.store(true, Ordering::SeqCst);
        execute!(self.out, EnterAlternateScreen, EnableBracketedPaste, Hide)?;
        self.forget();
        Ok(())
    }

    /// Draws everything anew the next time.
    pub(super) fn forget(&mut self) {
        self.shown = Buffer::empty(Rect::ZERO);
    }

    /// Gives the terminal back.
    pub(super) fn leave() {
        restore();
    }

    pub(super) fn size() -> io::Result<(u16, u16)> {
        let (width, height) = size()?;
        Ok((width.clamp(1, COLUMNS_MAX), height.clamp(1, ROWS_MAX)))
    }

    /// Draws cells where they changed.
    pub(super) fn draw(
        &mut self,
        size: (u16, u16),
        draw: impl FnOnce(&mut ScreenCells<'_>) -> Option<(u16, u16)>,
    ) -> io::Result<()> {
        let area = Rect::new(0, 0, size.0, size.1);
        if self.shown.area != area {
            queue!(self.out, SetAttribute(Attribute::Reset), Clear(ClearType::All))?;
            self.shown = Buffer::empty(area);
        }
        let mut next = Buffer::empty(area);
        let cursor = draw(&mut ScreenCells { buffer: &mut next, palette: self.palette });
        queue!(self.out, Hide)?;
        for (x, y, cell) in self.shown.diff(&next) {
            queue!(self.out, MoveTo(x, y))?;
            write_cell(&mut self.out, cell)?;
        }
        if let Some((x, y)) = cursor {
            queue!(self.out, MoveTo(x, y), Show)?;
        }
        self.shown = next;
        self.out.flush()
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        restore();
    }
}

/// Leaves the terminal as it was found, once.
fn restore() {
    if IS_ENTERED.swap(false, Ordering::SeqCst) {
        // There is nobody to tell where the terminal is gone.
        let _ = execute!(io::stdout(), SetAttribute(Attribute::Reset), DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// Lets a panic be read: it is told after the terminal is restored.
fn restore_at_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
    });
}

fn write_cell(out: &mut impl Write, cell: &Cell) -> io::Result<()> {
    for (modifier, attribute) in [
        (Modifier::BOLD, Attribute::Bold),
        (Modifier::DIM, Attribute::Dim),
        (Modifier::UNDERLINED, Attribute::Underlined),
        (Modifier::REVERSED, Attribute::Reverse),
    ] {
        if cell.modifier.contains(modifier) {
            queue!(out, SetAttribute(attribute))?;
        }
    }
    if let Some(color) = color(cell.fg) {
        queue!(out, SetForegroundColor(color))?;
    }
    queue!(out, Print(cell.symbol()))?;
    let is_plain = cell.modifier.is_empty() && cell.fg == CellColor::Reset;
    if is_plain { Ok(()) } else { queue!(out, SetAttribute(Attribute::Reset), ResetColor) }
}

/// A colour as the terminal's own sixteen have it.
fn color(color: CellColor) -> Option<Color> {
    match color {
        CellColor::Cyan => Some(Color::DarkCyan),
        CellColor::Blue => Some(Color::DarkBlue),
        CellColor::Yellow => Some(Color::DarkYellow),
        CellColor::Red => Some(Color::DarkRed),
        CellColor::DarkGray => Some(Color::DarkGrey),
        _ => None,
    }
}
