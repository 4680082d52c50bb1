//! Statements, one after another.

use crate::args::Args;
use crate::budget::QueryShares;
use crate::engine::Engine;
use crate::exit::ExitStatus;
use crate::fit::QueryFit;
use crate::limits::CHAIN_MAX;
use crate::output::{QuerySink, refuse_loss};
use crate::scan::{PiecesAhead, ScanContext};
use crate::tables::TableOptions;
use crate::temp::TempFolder;
use crate::watchdog::QueryWatchdog;
use crate::yielding::yielding;
use crate::{fault, message, prompt};
use async_trait::async_trait;
use datafusion::common::{Result, plan_err};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::logical_expr::{DdlStatement, LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::{SQLOptions, SessionConfig};
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use futures::{FutureExt, StreamExt};
use rorqual_pipe::{Control, escaped_path, reason, stats};
use std::io::{self, IsTerminal, Read};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Runs the plans of queries in other processes.
#[async_trait]
pub trait PlanRunner: Send + Sync {
    /// Settings of a plan for them, made of those for this process.
    ///
    /// # Errors
    /// When there are none, in words for people.
    async fn config(&self, config: SessionConfig) -> Result<SessionConfig>;

    /// Rows of a plan. Notes of its scans are in the tallies of `scans` at their end.
    ///
    /// # Errors
    /// When it can't be run, in words for people.
    async fn run(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &SessionConfig,
        scans: &Arc<ScanContext>,
    ) -> Result<SendableRecordBatchStream>;

    /// Ends whatever still runs, and waits a moment for that.
    async fn end(&self);
}

/// Runs the statements of the arguments, queries of files by `elsewhere` if that is given.
pub(crate) fn run(args: &Args, elsewhere: Option<&dyn PlanRunner>) -> ExitStatus {
    let started = Instant::now();
    let shares = match QueryShares::of(args) {
        Ok(shares) => shares,
        Err(error) => return message::error(&error),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(shares.threads).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(cause) => return message::error(&format!("cannot start threads: {}", reason(&cause))),
    };
    let entered = runtime.enter();
    let runner = match Runner::new(args, shares, elsewhere) {
        Ok(runner) => runner,
        Err(error) => return message::error(&error),
    };
    let exit = runtime.block_on(async {
        let exit = runner.run().await;
        if let Some(elsewhere) = elsewhere {
            elsewhere.end().await;
        }
        exit
    });
    if args.process.stats {
        runner.print_stats(started);
    }
    drop(entered);
    // A cancelled task that is still at work ends with the process; the watchdog looks until then.
    runtime.shutdown_background();
    runner.temp.remove();
    exit
}

/// True while a statement runs: panics are reported as errors.
pub(crate) static RUNS: AtomicBool = AtomicBool::new(false);

/// End of a statement.
enum StatementEnd {
    Done,
    Failed(String),
    Interrupted,
    /// The output can't be written; often its reader has enough.
    Unwritten(io::Error),
}

impl From<DataFusionError> for QueryFault {
    fn from(error: DataFusionError) -> Self {
        Self::Engine(error)
    }
}

/// Reason for which a query ended early.
enum QueryFault {
    Engine(DataFusionError),
    Output(io::Error),
}

pub(crate) struct Runner<'a> {
    args: &'a Args,
    shares: QueryShares,
    known: Arc<TableOptions>,
    engine: Engine,
    elsewhere: Option<&'a dyn PlanRunner>,
    guard: QueryWatchdog,
    temp: Arc<TempFolder>,
    /// The output is of an earlier statement of this run, and so may be replaced.
    has_written: AtomicBool,
}

impl<'a> Runner<'a> {
    /// To be called where there is a runtime.
    fn new(args: &'a Args, shares: QueryShares, elsewhere: Option<&'a dyn PlanRunner>) -> Result<Self, String> {
        let known = Arc::new(TableOptions::of(args)?);
        let temp = Arc::new(TempFolder::create(args.temp_dir.as_deref())?);
        let engine = Engine::new(args, Arc::clone(&known), shares, &temp).map_err(|error| fault::describe(&error, &shares))?;
        let guard = QueryWatchdog::start(shares.memory_bytes, shares.threads, &temp);
        Ok(Self { args, shares, known, engine, elsewhere, guard, temp, has_written: AtomicBool::new(false) })
    }

    async fn run(&self) -> ExitStatus {
        let text = match (&self.args.sql, &self.args.file) {
            (Some(sql), _) => Ok(sql.clone()),
            (None, Some(path)) if path.as_os_str() == "-" => read_stdin(),
            (None, Some(path)) => {
                std::fs::read_to_string(path).map_err(|cause| format!("{}: {}", escaped_path(path), reason(&cause)))
            }
            (None, None) if io::stdin().is_terminal() => return prompt::run(self).await,
            (None, None) => read_stdin(),
        };
        let exit = match text {
            Ok(text) => self.all(&text).await,
            Err(error) => return message::error(&error),
        };
        for table in self.known.tables_not_met().filter(|_| exit == ExitStatus::Done) {
            message::note(&format!("--rows {table}=…: the query has no table '{table}'"));
        }
        exit
    }

    /// Runs the statements of a text until one fails.
    pub(crate) async fn all(&self, text: &str) -> ExitStatus {
        let statements = match parse(text) {
            Ok(statements) => statements,
            Err(error) => return message::error(&fault::describe(&error, &self.shares)),
        };
        for statement in statements {
            RUNS.store(true, Ordering::Relaxed);
            let ended = self.interruptible(statement).await;
            RUNS.store(false, Ordering::Relaxed);
            self.engine.scans.tallies.take().iter().for_each(|left| message::note(left));
            let exit = match ended {
                StatementEnd::Done => ExitStatus::Done,
                StatementEnd::Failed(text) => message::error(&text),
                StatementEnd::Unwritten(cause) => return message::print_error(&cause),
                StatementEnd::Interrupted => {
                    message::note(&"stopped by Ctrl-C");
                    ExitStatus::Interrupted
                }
            };
            if exit != ExitStatus::Done {
                return exit;
            }
        }
        ExitStatus::Done
    }

    /// Runs one statement, which Ctrl-C and the watchdog end.
    async fn interruptible(&self, statement: Statement) -> StatementEnd {
        let signals = match StopSignals::new() {
            Ok(signals) => signals,
            Err(cause) => return StatementEnd::Failed(format!("cannot listen to signals: {}", reason(&cause))),
        };
        // A task of its own: this one hears nothing while it waits for the reader of the output.
        let stop = Control::default();
        self.engine.scans.begin(&stop);
        let stops = stop.clone();
        let mut signalled = tokio::spawn(async move {
            signals.first().await;
            stops.stop();
        });
        let end = tokio::select! {
            // Libraries panic on files that contradict themselves.
            ended = AssertUnwindSafe(self.statement(statement, &stop)).catch_unwind() => match ended {
                Ok(ended) => ended.map_or_else(|fault| self.failed(fault), |()| StatementEnd::Done),
                Err(_) => {
                    let names = self.known.input_names();
                    StatementEnd::Failed(format!("a file contradicts itself, or this program does (the query reads {names})"))
                }
            },
            () = self.guard.exceeded() => StatementEnd::Failed(self.guard.message()),
            _ = &mut signalled => StatementEnd::Interrupted,
        };
        signalled.abort();
        match end {
            StatementEnd::Unwritten(_) | StatementEnd::Failed(_) if stop.stopped() => StatementEnd::Interrupted,
            end => end,
        }
    }

    fn failed(&self, fault: QueryFault) -> StatementEnd {
        match fault {
            QueryFault::Output(cause) => StatementEnd::Unwritten(cause),
            QueryFault::Engine(error) if fault::is_of_a_file(&error) => {
                let (said, names) = (fault::describe(&error, &self.shares), self.known.input_names());
                StatementEnd::Failed(if said.contains(&names) { said } else { format!("{said} (the query reads {names})") })
            }
            QueryFault::Engine(error) => StatementEnd::Failed(fault::describe(&error, &self.shares)),
        }
    }

    async fn statement(&self, statement: Statement, stop: &Control) -> Result<(), QueryFault> {
        let plan = self.engine.session.state().statement_to_plan(statement).await?;
        allow(&plan)?;
        if matches!(plan, LogicalPlan::Ddl(_) | LogicalPlan::Statement(_)) {
            self.engine.session.execute_logical_plan(plan).await?;
            return Ok(());
        }
        let plan = if self.args.explain { LogicalPlanBuilder::from(plan).explain(false, false)?.build()? } else { plan };
        refuse_loss(self.args, &self.known, self.has_written.load(Ordering::Relaxed))?;
        let mut sink = QuerySink::create(self.args, &plan, stop).map_err(QueryFault::Output)?;
        let plan = sink.limited(plan)?;
        if self.elsewhere.is_some() && matches!(plan, LogicalPlan::Analyze(_)) {
            return plan_err!("EXPLAIN ANALYZE runs a query in this process: leave --cluster out").map_err(QueryFault::Engine);
        }
        let is_about_plan = matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::DescribeTable(_));
        if let Some(elsewhere) = self.elsewhere.filter(|_| !is_about_plan)
            && self.query_elsewhere(&plan, &mut sink, elsewhere).await?
        {
            sink.finish().map_err(QueryFault::Output)?;
            self.has_written.store(true, Ordering::Relaxed);
            return Ok(());
        }
        match self.query(&plan, &mut sink, true).await {
            // A hash join holds one side; a merge join spills both.
            Err(QueryFault::Engine(error)) if fault::is_out_of_memory(&error) && sink.is_untouched() => {
                self.query(&plan, &mut sink, false).await?;
            }
            ended => ended?,
        }
        sink.finish().map_err(QueryFault::Output)?;
        self.has_written.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Runs a query into its sink.
    async fn query(&self, plan: &LogicalPlan, sink: &mut QuerySink, prefer_hash_join: bool) -> Result<(), QueryFault> {
        let mut state = self.engine.session.state();
        let options = state.config_mut().options_mut();
        if !prefer_hash_join && !std::mem::replace(&mut options.optimizer.prefer_hash_join, false) {
            return plan_err!("neither a hash join nor a merge join has enough memory").map_err(QueryFault::Engine);
        }
        let fit = QueryFit::of(&state.optimize(plan)?, &self.shares)?;
        let config = state.config().clone().with_target_partitions(fit.partitions).with_batch_size(fit.batch_rows);
        *state.config_mut() = config.with_extension(Arc::new(PiecesAhead::new(fit.pieces_ahead)));
        let pool = &state.runtime_env().memory_pool;
        let _read = fit.reserve(pool, &self.shares)?;
        let physical = yielding(state.create_physical_plan(plan).await?)?;
        self.write_rows(execute_stream(physical, state.task_ctx())?, sink).await
    }

    /// Runs a query elsewhere, and takes its rows into the sink; false where it reads no file, and
    /// so is for this process.
    async fn query_elsewhere(
        &self,
        plan: &LogicalPlan,
        sink: &mut QuerySink,
        elsewhere: &dyn PlanRunner,
    ) -> Result<bool, QueryFault> {
        let mut state = self.engine.session.state();
        let config = elsewhere.config(state.config().clone()).await?;
        *state.config_mut() = config;
        let physical = yielding(state.create_physical_plan(plan).await?)?;
        if !reads_files(&physical) {
            return Ok(false);
        }
        self.write_rows(elsewhere.run(physical, state.config(), &self.engine.scans).await?, sink).await?;
        Ok(true)
    }

    async fn write_rows(&self, mut rows: SendableRecordBatchStream, sink: &mut QuerySink) -> Result<(), QueryFault> {
        let pool = &self.engine.session.runtime_env().memory_pool;
        let written = MemoryConsumer::new("rows that wait to be written").register(pool);
        written.try_grow(self.shares.as_operators(sink.bytes(&rows.schema())) as usize)?;
        sink.start(rows.schema());
        while let Some(batch) = rows.next().await {
            sink.write(&batch?).map_err(QueryFault::Output)?;
        }
        Ok(())
    }

    fn print_stats(&self, started: Instant) {
        let seconds = started.elapsed().as_secs_f64();
        let bytes = self.engine.scans.control.decoded_bytes();
        let peak = stats::peak_bytes().map_or("null".to_owned(), |bytes| bytes.to_string());
        let temp = self.engine.session.runtime_env().disk_manager.used_disk_space();
        message::line(&format_args!(
            "{{\"decoded_bytes\":{bytes},\"seconds\":{seconds:.6},\"bytes_per_second\":{:.0},\"threads\":{},\"memory_max_bytes\":{},\
             \"peak_bytes\":{peak},\"temp_bytes\":{temp}}}",
            bytes as f64 / seconds.max(1e-9),
            self.shares.threads,
            self.shares.memory_bytes,
        ));
    }
}

/// True if a plan reads a file.
fn reads_files(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let source = plan.downcast_ref::<DataSourceExec>().map(DataSourceExec::data_source);
    source.is_some_and(|source| source.is::<FileScanConfig>()) || plan.children().into_iter().any(reads_files)
}

/// Signals that ask a process to end, listened to from its creation on.
pub struct StopSignals([Signal; 3]);

impl StopSignals {
    /// Starts to listen.
    ///
    /// # Errors
    /// When the system refuses it.
    pub fn new() -> io::Result<Self> {
        let of = |kind: fn() -> SignalKind| signal(kind());
        Ok(Self([of(SignalKind::interrupt)?, of(SignalKind::terminate)?, of(SignalKind::hangup)?]))
    }

    /// Ends at the first of them.
    pub async fn first(self) {
        let [mut interrupt, mut terminate, mut hangup] = self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

fn read_stdin() -> Result<String, String> {
    let mut text = String::new();
    let read = io::stdin().read_to_string(&mut text);
    read.map(|_| text).map_err(|cause| format!("standard input: {}", reason(&cause)))
}

fn parse(text: &str) -> Result<Vec<Statement>> {
    refuse_chains(text)?;
    let statements: Vec<Statement> = DFParserBuilder::new(text).build()?.parse_statements()?.into();
    if statements.is_empty() { plan_err!("there is no query") } else { Ok(statements) }
}

/// The parser bounds nesting; `1 + 1 + 1 …` becomes a tree as deep as it is long, and a walk over
/// that takes as much stack.
fn refuse_chains(text: &str) -> Result<()> {
    // A text that is no SQL is left to the parser's message.
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, text).tokenize() else { return Ok(()) };
    let longest = tokens.split(|token| *token == Token::SemiColon).map(|statement| {
        // A sign, or all columns, stands after one of these and joins nothing.
        let mut before = &Token::LParen;
        let tokens = statement.iter().filter(|token| !matches!(token, Token::Whitespace(_)));
        let joining = tokens.filter(|token| {
            let alone =
                matches!(before, Token::LParen | Token::Comma) && matches!(token, Token::Minus | Token::Plus | Token::Mul);
            before = *token;
            !alone && joins(token)
        });
        joining.count()
    });
    match longest.max() {
        Some(count) if count > CHAIN_MAX => plan_err!("a statement has {count} operators, and at most {CHAIN_MAX} are read"),
        _ => Ok(()),
    }
}

/// True if a token joins parts of a statement, and so makes its tree deeper.
fn joins(token: &Token) -> bool {
    match token {
        Token::Word(word) => CHAINING.contains(&word.keyword),
        Token::Number(..) | Token::SingleQuotedString(_) | Token::DoubleQuotedString(_) | Token::EOF => false,
        Token::Comma | Token::LParen | Token::RParen | Token::RBracket | Token::Period => false,
        _ => true,
    }
}

/// The words that do.
const CHAINING: [Keyword; 14] = [
    Keyword::AND,
    Keyword::OR,
    Keyword::NOT,
    Keyword::IS,
    Keyword::LIKE,
    Keyword::ILIKE,
    Keyword::IN,
    Keyword::BETWEEN,
    Keyword::AT,
    Keyword::COLLATE,
    Keyword::UNION,
    Keyword::INTERSECT,
    Keyword::EXCEPT,
    Keyword::JOIN,
];

/// Queries, and tables and views in memory; nothing that writes.
fn allow(plan: &LogicalPlan) -> Result<()> {
    if let LogicalPlan::Copy(_) | LogicalPlan::Dml(_) = plan {
        return plan_err!("nothing is written by a statement; -o FILE writes the result of a query");
    }
    if let LogicalPlan::Ddl(DdlStatement::CreateExternalTable(_)) = plan {
        return plan_err!(
            "a file needs no CREATE EXTERNAL TABLE: name it, as in FROM 'access.log', or CREATE VIEW name AS SELECT … FROM 'access.log'"
        );
    }
    SQLOptions::new().with_allow_dml(false).verify_plan(plan)
}
