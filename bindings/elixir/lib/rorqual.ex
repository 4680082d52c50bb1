defmodule Rorqual do
  @moduledoc """
  Files of any size, in the memory you give it.

  Operations work on threads of their own; no scheduler of the VM works or waits for them. Each takes
  `:memory` (a number of bytes or `"256MiB"`) and `:threads`. Operations of one node together have
  `config :rorqual, node_memory: "512MiB"`; one that does not fit waits for its turn.

  A source is a path (a binary) or an enumerable of iodata. What is compressed is read as it would be
  without that. A failure is raised as `Rorqual.Error`.
  """

  alias Rorqual.{Job, Native, Options}
  require Logger

  @doc """
  The digest of a source as it is stored, in hexadecimal.

  Algorithms are `:sha256`, `:sha512`, `:sha1`, `:md5`, `:blake3`, `:sha224`, `:sha384` and `:blake2b`.
  """
  def hash!(source, algorithm \\ :sha256, options \\ []) do
    options = Options.checked(options, [])

    Job.result([source], fn id, [source] ->
      Native.digest(id, Map.merge(options, %{source: source, algorithm: to_string(algorithm)}))
    end)
  end

  @doc "Lines, bytes and the longest line of a source; `words: true` and `characters: true` count those."
  def count!(source, options \\ []) do
    options = Options.checked(options, words: false, characters: false)
    Job.result([source], fn id, [source] -> Native.count(id, Map.put(options, :source, source)) end)
  end

  @doc """
  The lines that match a pattern, or one of several: an enumerable of `{number, offset, line}`.

  Options are `:fixed`, `:ignore_case`, `:word`, `:whole_line`, `:invert` and `:max_count`.
  """
  def grep(source, pattern, options \\ []) do
    flags = [fixed: false, ignore_case: false, word: false, whole_line: false, invert: false, max_count: nil]
    options = options |> Options.checked(flags) |> Map.put(:patterns, List.wrap(pattern))

    [source]
    |> Job.stream(fn id, [source] -> Native.grep(id, Map.put(options, :source, source)) end)
    |> Stream.flat_map(& &1)
  end

  @doc """
  Downloads a file: resumed, verified, whole or not at all.

  `:into` is the path, `:sha256` or `:blake3` the digest that it must have; further options are
  `:headers` (a list of pairs), `:replace`, `:parallel`, `:retries` and `:timeout` (in milliseconds).
  `:on_progress` is a process that is sent `{:rorqual_fetch, url, event}`: `{:started, size, resumed}`,
  `{:bytes, received}` ten times a second, `{:retry, reason, after_ms}` and `{:start_over, reason}`.
  """
  def fetch!(url, options) do
    defaults = [
      sha256: nil,
      blake3: nil,
      headers: [],
      replace: false,
      parallel: nil,
      retries: nil,
      timeout: nil
    ]

    {path, options} = Keyword.pop!(options, :into)
    {listener, options} = Keyword.pop(options, :on_progress)
    options = options |> Options.checked(defaults) |> Map.merge(%{url: url, path: Path.expand(path)})
    job = Job.start([], fn id, [] -> Native.download(id, options) end)

    try do
      Job.told(job, fn event -> if listener, do: send(listener, {:rorqual_fetch, url, event}) end)
    after
      Job.close(job)
    end
  end

  @doc """
  Converts a file, or several, to Parquet, Arrow, NDJSON or CSV, by the program `rorqual`.

  Options are flags of `rorqual convert`, as `format: "combined"`.
  """
  def convert!(source, target, options \\ []) do
    Rorqual.Program.run!(
      ["convert" | Rorqual.Program.flags(options)] ++ ["-o", target, "--" | List.wrap(source)]
    )

    :ok
  end

  @doc """
  The rows of a statement of SQL over files, by the programs `rorqual` and `rorqual-query`: an enumerable
  of maps with texts as keys. With `to: "csv"` it is one of binaries, which are parts of that text.

  Other options are flags of `rorqual query`, as `memory: "512MiB"`, and `:notes`, a function that is given
  what the program says at its end, about records that were left out; it is logged if not given. The
  program waits while nobody takes rows, and ends with the stream.
  """
  def query(sql, options \\ []) do
    {form, options} = Keyword.pop(options, :to)
    {notes, options} = Keyword.pop(options, :notes, &warn/1)
    arguments = ["query" | Rorqual.Program.flags(options)] ++ ["--to", form || "ndjson", sql]
    call = %{program: Rorqual.Program.path(), arguments: arguments, documents: form == nil}

    []
    |> Job.stream(fn id, [] -> Native.program(id, call) end)
    |> Stream.flat_map(fn
      {:rows, rows} -> rows
      {:notes, text} -> notes.(text) && []
    end)
  end

  @doc "Number of operations that have a thread: 0 when nothing is under way."
  def live, do: Native.live()

  defp warn(text), do: Logger.warning(text)
end
