//! The parts of the screen by its size.

use crate::verbs::logs::terminal::SCALE;

/// The least size that is drawn.
pub(super) const WIDTH_MIN: u16 = 80;
pub(super) const HEIGHT_MIN: u16 = 24;

/// From this width on there are two columns of panels.
const TWO_COLUMNS_MIN: u16 = 140;

/// Rows of a panel, its title included, that a screen has room for at least.
const PANEL_HEIGHT: u16 = 6;

/// Rows above the plot: title, filter, legend.
pub(super) const HEAD_ROWS: u16 = 3;

/// Rows at the bottom: message, keys.
pub(super) const FOOT_ROWS: u16 = 2;

/// The parts of the overview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OverviewLayout {
    /// Columns of the histogram, right of its scale.
    pub(super) plot_width: u16,
    pub(super) plot_height: u16,
    /// First row of the panels.
    pub(super) panels_top: u16,
    /// Columns of panels, and panels in each.
    pub(super) columns: u16,
    pub(super) stacked: u16,
    /// Rows of each panel with its title.
    pub(super) panel_height: u16,
    pub(super) panel_width: u16,
}

impl OverviewLayout {
    pub(super) fn new((width, height): (u16, u16)) -> Self {
        let (width, height) = (width.max(WIDTH_MIN), height.max(HEIGHT_MIN));
        let plot_height = (height / 5).clamp(4, 10);
        let panels_top = HEAD_ROWS + plot_height + 1;
        let room = height - panels_top - FOOT_ROWS;
        let columns = if width >= TWO_COLUMNS_MIN { 2 } else { 1 };
        let stacked = (room / PANEL_HEIGHT).max(1);
        let panel_width = (width - (columns - 1) * 2) / columns;
        let panel_height = room / stacked;
        let plot_width = width - SCALE as u16;
        Self { plot_width, plot_height, panels_top, columns, stacked, panel_height, panel_width }
    }

    /// Panels on the screen at a time.
    pub(super) fn panels(&self) -> usize {
        usize::from(self.columns * self.stacked)
    }

    /// Values of each.
    pub(super) fn values(&self) -> usize {
        usize::from(self.panel_height) - 1
    }
}

/// Rows of a list or of lines, below a title and above the foot.
pub(super) fn list_height((_, height): (u16, u16)) -> usize {
    usize::from(height.max(HEIGHT_MIN) - 2 - FOOT_ROWS)
}

/// True if there is room.
pub(super) fn fits((width, height): (u16, u16)) -> bool {
    width >= WIDTH_MIN && height >= HEIGHT_MIN
}

/// The first row that is shown, so that the cursor is among them.
pub(super) fn scrolled(first: usize, cursor: usize, height: usize) -> usize {
    first.clamp((cursor + 1).saturating_sub(height), cursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fill_the_screen() {
        for (size, columns, stacked) in [((80, 24), 1, 2), ((120, 40), 1, 4), ((160, 50), 2, 5), ((400, 150), 2, 22)] {
            let layout = OverviewLayout::new(size);
            assert_eq!((layout.columns, layout.stacked), (columns, stacked), "{size:?}");
            let bottom = layout.panels_top + layout.stacked * layout.panel_height;
            assert!(bottom <= size.1 - FOOT_ROWS && bottom + layout.stacked > size.1 - FOOT_ROWS, "{layout:?}");
            assert!(layout.columns * layout.panel_width <= size.0);
        }
    }

    #[test]
    fn the_cursor_is_always_on_the_screen() {
        for (first, cursor, shown) in [(0, 3, 0), (0, 10, 1), (5, 3, 3), (5, 14, 5), (5, 15, 6)] {
            assert_eq!(scrolled(first, cursor, 10), shown);
        }
    }
}
