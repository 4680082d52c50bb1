//! Every limit of rendering in one place, with the memory it costs.

/// Text of the templates that one output may be made of, together. Parsed it takes some eight times
/// as much.
pub const TEMPLATES_BYTES_MAX: usize = 4 << 20;

/// Memory of a parsed template for each byte of its text; measured at 6 for expressions without a
/// blank between them.
pub const PARSED_BYTES_PER_BYTE: u64 = 8;

/// Templates included in one another, scopes and calls of macros in one another, as MiniJinja
/// weighs them: an include counts 10, a macro 4. Each takes up to 16 KiB of the stack, whose
/// smallest is 2 MiB.
pub const DEPTH_MAX: usize = 120;

/// Operators of one expression, and branches of one `if`. Each takes up to 2 KiB of the stack while
/// the template is worked on.
pub const CHAIN_MAX: usize = 500;

/// The longest text that a variable of a template may hold. It bounds `x ~ x`, which doubles a
/// text. The emitter sees to it; in a template that MiniJinja renders as a whole, and within one
/// expression, only the process's memory is a bound.
pub const TEXT_BYTES_MAX: usize = 8 << 20;

/// Output that a worker renders of a batch before it leaves the rest to the writing thread; each
/// output that waits holds this much.
pub const RENDERED_BYTES_MAX: usize = 1 << 20;

/// Iterations of loops between two looks at whether the run was stopped. Costs no memory.
pub const STOP_CHECK_ITERATIONS: u32 = 1024;

/// Parts of a template as the emitter has it, includes in their places; each takes some 1 KiB. A
/// template of more is left to MiniJinja, which keeps each template once.
pub const PLAN_NODES_MAX: usize = 16 << 10;

/// Text of the templates that are in it, each as often as it is included. Takes as much memory at
/// most.
pub const PLAN_TEXT_BYTES_MAX: usize = 2 * TEMPLATES_BYTES_MAX;

/// A loop over a range whose body is the same text each time is written in pieces of this size. One
/// piece for each such loop that runs, and for those of it that wait to be written.
pub const REPEATED_BYTES_MAX: usize = 64 << 10;

/// Bytes of a template's line that an error quotes.
pub const QUOTED_BYTES_MAX: usize = 160;
