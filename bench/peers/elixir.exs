# elixir.exs JOB FILE [ROUNDS]: one job in Elixir, by the package or by Elixir alone. The first line is the answer; the second
# has the seconds that the job took, without the start of the VM.

defmodule ByElixir do
  @block 1_048_576

  # Lines of the access log by binary patterns: how many have a status of 500 or above, and the bytes of their paths.
  def stream(path) do
    path
    |> File.stream!(read_ahead: @block)
    |> Enum.reduce({0, 0}, fn line, {count, bytes} ->
      case status_and_path(line) do
        {status, path} when status >= 500 -> {count + 1, bytes + byte_size(path)}
        _ -> {count, bytes}
      end
    end)
  end

  defp status_and_path(line) do
    with {from, 1} <- :binary.match(line, "\""),
         <<_::binary-size(from), ?", rest::binary>> <- line,
         {length, 1} <- :binary.match(rest, "\""),
         <<request::binary-size(length), "\" ", a, b, c, _::binary>> <- rest,
         [_method, path | _] <- :binary.split(request, " ", [:global]) do
      {(a - ?0) * 100 + (b - ?0) * 10 + c - ?0, path}
    else
      _ -> nil
    end
  end

  # Both halves of a file at once, by blocks.
  def count(path), do: halves(path, &newlines/1, &whole/1)

  def grep(path) do
    pattern = :binary.compile_pattern(" 404 ")
    halves(path, &matching_lines(&1, pattern, 0), &whole_lines/1)
  end

  def sha256(path) do
    path
    |> File.stream!([], @block)
    |> Enum.reduce(:crypto.hash_init(:sha256), &:crypto.hash_update(&2, &1))
    |> :crypto.hash_final()
    |> Base.encode16(case: :lower)
  end

  defp newlines(block), do: length(:binary.matches(block, "\n"))

  defp matching_lines(block, pattern, count) do
    with {at, length} <- :binary.match(block, pattern),
         from = at + length,
         {newline, 1} <- :binary.match(block, "\n", scope: {from, byte_size(block) - from}) do
      rest = binary_part(block, newline + 1, byte_size(block) - newline - 1)
      matching_lines(rest, pattern, count + 1)
    else
      :nomatch -> count
    end
  end

  defp whole(block), do: block

  # What is after the last newline is read again with the next block.
  defp whole_lines(block) do
    from = max(0, byte_size(block) - 8_192)
    {last, 1} = block |> :binary.matches("\n", scope: {from, byte_size(block) - from}) |> List.last()
    binary_part(block, 0, last + 1)
  end

  defp halves(path, counted, cut) do
    size = File.stat!(path).size
    {:ok, file} = :file.open(path, [:raw, :read, :binary])
    middle = line_after(file, div(size, 2))
    :file.close(file)

    [{0, middle}, {middle, size}]
    |> Enum.map(&Task.async(fn -> part(path, &1, counted, cut) end))
    |> Task.await_many(:infinity)
    |> Enum.sum()
  end

  defp part(path, {from, to}, counted, cut) do
    {:ok, file} = :file.open(path, [:raw, :read, :binary])
    blocks(file, from, to, counted, cut, 0)
  end

  defp blocks(_file, from, to, _counted, _cut, sum) when from >= to, do: sum

  defp blocks(file, from, to, counted, cut, sum) do
    {:ok, block} = :file.pread(file, from, min(@block, to - from))
    block = cut.(block)
    blocks(file, from + byte_size(block), to, counted, cut, sum + counted.(block))
  end

  defp line_after(file, at) do
    {:ok, block} = :file.pread(file, at, @block)
    {newline, 1} = :binary.match(block, "\n")
    at + newline + 1
  end
end

defmodule ByRorqual do
  def stream(path) do
    path
    |> Rorqual.Log.stream!(fields: [:status, :path], where: "status >= 500", notes: fn _ -> [] end)
    |> Enum.reduce({0, 0}, fn row, {count, bytes} -> {count + 1, bytes + byte_size(row.path)} end)
  end

  # Every row of the log, in columns.
  def columns(path) do
    path
    |> Rorqual.Log.stream!(fields: [:status, :path], columns: true, notes: fn _ -> [] end)
    |> Enum.reduce({0, 0}, fn columns, {count, bytes} ->
      five = for {status, path} <- Enum.zip(columns.status, columns.path), status >= 500, do: byte_size(path)
      {count + length(five), bytes + Enum.sum(five)}
    end)
  end

  def count(path), do: Rorqual.count!(path).lines
  def grep(path), do: path |> Rorqual.grep(" 404 ", fixed: true) |> Enum.count()
  def sha256(path), do: Rorqual.hash!(path, :sha256)
  def blake3(path), do: Rorqual.hash!(path, :blake3)

  # An upload in pieces of 64 KiB: the file so many times, as one log. One thread reads it.
  def upload(path, rounds) do
    {:ok, state} = Rorqual.UploadWriter.init(to: self(), every: 1_000, threads: 1)
    state = Enum.reduce(1..rounds, state, fn _, state -> pieces(path, state) end)
    {:ok, state} = Rorqual.UploadWriter.close(state, :done)
    Rorqual.UploadWriter.meta(state).report["lines"]["total"]
  end

  defp pieces(path, state) do
    {:ok, file} = :file.open(path, [:raw, :read, :binary])
    state = write(file, state)
    :file.close(file)
    state
  end

  defp write(file, state) do
    case :file.read(file, 65_536) do
      {:ok, bytes} ->
        {:ok, state} = Rorqual.UploadWriter.write_chunk(bytes, state)
        drop_reports()
        write(file, state)

      :eof ->
        state
    end
  end

  defp drop_reports do
    receive do
      {:rorqual_report, _, _} -> drop_reports()
    after
      0 -> :ok
    end
  end
end

# How late a timer of one millisecond is, and what the VM holds, while a job runs.
defmodule Meanwhile do
  def start do
    spawn_link(fn -> watch([], 0) end)
  end

  def stop(pid) do
    send(pid, {:stop, self()})

    receive do
      {:watched, late, memory} -> {late, memory}
    end
  end

  defp watch(late, memory) do
    begun = System.monotonic_time(:microsecond)
    Process.send_after(self(), :tick, 1)

    receive do
      :tick -> watch([System.monotonic_time(:microsecond) - begun | late], max(memory, :erlang.memory(:total)))
      {:stop, pid} -> send(pid, {:watched, Enum.sort(late), memory})
    end
  end
end

[job, path | rounds] = System.argv()
[by, name] = String.split(job, "-")
module = if by == "rorqual", do: ByRorqual, else: ByElixir
# The library is loaded once in the life of a node.
if by == "rorqual", do: Rorqual.live()
watcher = Meanwhile.start()
begun = System.monotonic_time(:microsecond)
answer = apply(module, String.to_existing_atom(name), [path | Enum.map(rounds, &String.to_integer/1)])
seconds = (System.monotonic_time(:microsecond) - begun) / 1.0e6
{late, memory} = Meanwhile.stop(watcher)
p99 = Enum.at(late, trunc(length(late) * 0.99)) || 0
IO.puts(if is_tuple(answer), do: answer |> Tuple.to_list() |> Enum.join(" "), else: answer)
IO.puts("#{seconds} #{p99 / 1000} #{div(memory, 1_048_576)}")
