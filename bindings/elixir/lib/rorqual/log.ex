defmodule Rorqual.Log do
  @moduledoc """
  Access logs: rows, reports, counts and searches.
  """

  alias Rorqual.{Job, Native, Options}
  require Logger

  @doc """
  The lines of logs as maps with atoms as keys, while they are taken.

  * `:fields` - the fields, as `[:time, :status, :path]`; all that the format has if not given.
  * `:where` - a filter, as `"status >= 500 and not bot"`.
  * `:since`, `:until` - a span of time: `DateTime`, `NaiveDateTime` (UTC), `Date`, or ISO 8601.
  * `:format` - the format, where it is not found out.
  * `:chunk` - lists of so many rows, instead of rows.
  * `:columns` - with `true` maps of lists, of some thousand rows each.
  * `:times` - `:datetime`, or `:microsecond` for integers.
  * `:notes` - a function that is given sentences about lines that were left out or mended, when the
    last row was taken; they are logged as warnings if not given.

  A text is a part of a larger binary, of 512 KiB and less: `:binary.copy/1` what is to be kept for long. A source that is
  an enumerable is gone through by a process of its own.
  """
  def stream!(sources, options \\ []) do
    {chunk, options} = Keyword.pop(options, :chunk)
    {times, options} = Keyword.pop(options, :times, :datetime)
    {notes, options} = Keyword.pop(options, :notes, &warn/1)
    options = options(options, columns: false, fields: nil)
    options = Map.update!(options, :fields, &(&1 && Enum.map(&1, fn field -> to_string(field) end)))

    batches =
      sources
      |> sources()
      |> Job.stream(fn id, sources -> Native.rows(id, Map.put(options, :sources, sources)) end)
      |> Stream.flat_map(fn
        {:rows, rows} -> [dated(rows, times)]
        {:notes, []} -> []
        {:notes, told} -> notes.(told) && []
      end)

    cond do
      options.columns -> batches
      chunk -> batches |> Stream.flat_map(& &1) |> Stream.chunk_every(chunk)
      true -> Stream.flat_map(batches, & &1)
    end
  end

  @doc """
  The report of logs, as `rorqual logs --json` has it: maps with texts as keys.

  Options are those of `stream!/2` about lines, and `:top`, the rows of each table.
  """
  def report(sources, options \\ []) do
    options = options(options, top: 10)
    Job.result(sources(sources), fn id, sources -> Native.report(id, Map.put(options, :sources, sources)) end)
  end

  @doc "As `Rorqual.count!/2`."
  defdelegate count(source, options \\ []), to: Rorqual, as: :count!

  @doc "As `Rorqual.grep/3`."
  defdelegate grep(source, pattern, options \\ []), to: Rorqual

  defp options(options, defaults) do
    options = Options.checked(options, [where: nil, since: nil, until: nil, format: nil] ++ defaults)
    %{options | since: Options.microseconds(options.since), until: Options.microseconds(options.until)}
  end

  # A list of paths is several logs, and any other enumerable the bytes of one.
  defp sources(path) when is_binary(path), do: [path]

  defp sources(list) when is_list(list) do
    if list != [] and Enum.all?(list, &(is_binary(&1) and File.exists?(&1))), do: list, else: [list]
  end

  defp sources(enumerable), do: [enumerable]

  defp dated(rows, :microsecond), do: rows
  defp dated(%{time: times} = columns, _), do: %{columns | time: Enum.map(times, &date/1)}
  defp dated([%{time: _} | _] = rows, _), do: Enum.map(rows, fn row -> %{row | time: date(row.time)} end)
  defp dated(rows, _), do: rows

  defp date(nil), do: nil
  defp date(microseconds), do: DateTime.from_unix!(microseconds, :microsecond)

  defp warn(told), do: Enum.each(told, &Logger.warning("rorqual: " <> &1))
end
