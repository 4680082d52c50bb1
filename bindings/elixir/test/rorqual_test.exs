defmodule RorqualTest do
  use ExUnit.Case, async: false
  import ExUnit.CaptureLog

  @sample Path.expand("../../../samples/apache_combined.log", __DIR__)

  # The format by hand: the reference for what the library reads.
  @line ~r/^(\S+) \S+ (\S+) \[([^\]]+)\] "(\S+) (\S+) ([^"]+)" (\d{3}) (\d+|-)/

  setup do
    folder = Path.join(System.tmp_dir!(), "rorqual-#{System.unique_integer([:positive])}-#{System.os_time()}")
    File.mkdir_p!(folder)
    on_exit(fn -> File.rm_rf!(folder) end)
    {:ok, folder: folder}
  end

  defp by_hand do
    @sample |> File.stream!() |> Stream.map(&Regex.run(@line, &1)) |> Stream.reject(&is_nil/1)
  end

  defp eventually(check, tries \\ 500) do
    cond do
      check.() -> :ok
      tries == 0 -> flunk("it did not come to that")
      true -> Process.sleep(10) && eventually(check, tries - 1)
    end
  end

  test "rows of a log are those that a pattern finds" do
    wanted =
      by_hand()
      |> Enum.map(fn [_, client, _, _, _, _, _, status, _] -> {client, String.to_integer(status)} end)

    options = [fields: [:client, :status], notes: fn _ -> :ok end]
    rows = Rorqual.Log.stream!(@sample, options) |> Enum.map(&{&1.client, &1.status})
    assert length(rows) >= length(wanted)
    assert wanted -- rows == []
    assert Enum.all?(rows, fn {_, status} -> status in 100..999 end)
  end

  test "a filter leaves the rows that it means, in chunks and in columns" do
    options = [fields: [:status], where: "status >= 500", notes: fn _ -> :ok end]

    wanted =
      Rorqual.Log.stream!(@sample, fields: [:status], notes: fn _ -> :ok end)
      |> Enum.count(&(&1.status >= 500))

    assert Rorqual.Log.stream!(@sample, options) |> Enum.count() == wanted
    chunks = Rorqual.Log.stream!(@sample, [chunk: 2] ++ options) |> Enum.to_list()
    assert Enum.all?(chunks, &(length(&1) <= 2))
    assert chunks |> Enum.concat() |> length() == wanted
    columns = Rorqual.Log.stream!(@sample, [columns: true] ++ options)
    assert columns |> Enum.map(&length(&1.status)) |> Enum.sum() == wanted
  end

  test "a line that can't be read is told", %{folder: folder} do
    path = Path.join(folder, "broken.log")
    good = ~s(127.0.0.1 - - [10/Oct/2025:13:55:36 +0000] "GET /a HTTP/1.1" 200 5\n)
    File.write!(path, [List.duplicate(good, 9), "no line of a log\n"])
    log = capture_log(fn -> assert Rorqual.Log.stream!(path) |> Enum.count() == 9 end)
    assert log =~ "1 bad record was left out"
    assert log =~ "broken.log"

    assert [%{time: ~U[2025-10-10 13:55:36.000000Z], bytes: 5} | _] =
             Rorqual.Log.stream!(path, notes: fn _ -> :ok end) |> Enum.to_list()
  end

  test "an enumerable is a source, and one that raises is an error" do
    options = [fields: [:status], notes: fn _ -> :ok end]
    wanted = Rorqual.Log.stream!(@sample, options) |> Enum.to_list()
    assert Rorqual.Log.stream!(File.stream!(@sample, [], 1000), options) |> Enum.to_list() == wanted

    raising =
      Stream.concat(
        File.stream!(@sample, [], 100_000) |> Stream.take(3),
        Stream.map([1], fn _ -> raise "broken" end)
      )

    capture_log(fn ->
      error = assert_raise Rorqual.Error, fn -> Rorqual.hash!(raising) end
      assert error.message =~ "the process that gave the bytes has ended"
    end)
  end

  test "pieces of any length are read, and those of one byte have an end, too" do
    bytes = :binary.copy("line\n", 60_000)
    single = for <<byte::binary-size(1) <- bytes>>, do: byte
    assert %{lines: 60_000, bytes: 300_000} = Rorqual.count!(single)
    assert %{lines: 60_000, bytes: 300_000} = Rorqual.count!(["", bytes, "", ""])
    large = :binary.copy(bytes, 10)
    assert %{lines: 1_200_000} = Rorqual.count!([large, large])
  end

  test "operations have a lower priority than the schedulers" do
    test = self()
    pieces = Stream.map(File.stream!(@sample, [], 65_536), fn piece -> send(test, {:threads, threads()}) && piece end)
    Rorqual.hash!(pieces)
    seen = seen([])
    assert {"rorqual", 5} in seen
    assert Enum.any?(seen, fn {name, nice} -> name =~ "sched" and nice == 0 end)
  end

  defp seen(so_far) do
    receive do
      {:threads, threads} -> seen(threads ++ so_far)
    after
      0 -> Enum.uniq(so_far)
    end
  end

  # Names and priorities of the threads of the VM, by proc(5).
  defp threads do
    for path <- Path.wildcard("/proc/self/task/*/stat"), {:ok, stat} <- [File.read(path)] do
      [_, name, rest] = Regex.run(~r/^\d+ \((.*)\) (.*)$/s, stat)
      {name, rest |> String.split() |> Enum.at(16) |> String.to_integer()}
    end
  end

  test "digests are those of the VM" do
    bytes = File.read!(@sample)
    wanted = :crypto.hash(:sha256, bytes) |> Base.encode16(case: :lower)
    assert Rorqual.hash!(@sample) == wanted
    assert Rorqual.hash!(File.stream!(@sample, [], 7919)) == wanted
    assert Rorqual.hash!([bytes]) == wanted
    assert Rorqual.hash!(@sample, :md5) == :crypto.hash(:md5, bytes) |> Base.encode16(case: :lower)
  end

  test "counts and matches are those of the VM" do
    lines = @sample |> File.stream!() |> Enum.to_list()
    counts = Rorqual.Log.count(@sample)
    assert counts.lines == length(lines)
    assert counts.bytes == File.stat!(@sample).size
    assert counts.longest_bytes == lines |> Enum.map(&(byte_size(&1) - 1)) |> Enum.max()

    wanted =
      for {line, number} <- Enum.with_index(lines, 1),
          line =~ "Googlebot",
          do: {number, String.trim_trailing(line, "\n")}

    found =
      Rorqual.Log.grep(@sample, "Googlebot", fixed: true)
      |> Enum.map(fn {number, _, line} -> {number, line} end)

    assert found == wanted
    assert Rorqual.grep(@sample, "GET", max_count: 3) |> Enum.count() == 3
  end

  test "a report has the lines of the log" do
    report = Rorqual.Log.report(@sample, top: 3)
    assert report["schema"] == "rorqual.logs/1"
    assert report["lines"]["parsed"] + report["lines"]["rejected"] == Rorqual.count!(@sample).lines
  end

  test "failures say their kind, their file and the memory that would do" do
    error = assert_raise Rorqual.Error, fn -> Rorqual.Log.stream!("/none.log") |> Enum.to_list() end
    assert %{kind: :io, name: "/none.log"} = error

    error =
      assert_raise Rorqual.Error, fn -> Rorqual.Log.stream!(@sample, where: "status >") |> Enum.to_list() end

    assert error.kind == :argument
    error = assert_raise Rorqual.Error, fn -> Rorqual.count!(@sample, memory: 1) end
    assert error.kind == :memory
    assert Rorqual.count!(@sample, memory: error.needed_bytes).lines > 0
    refute error.message =~ "--"
    assert_raise Rorqual.Error, fn -> Rorqual.grep(@sample, "(") |> Enum.to_list() end
  end

  test "templates", %{folder: folder} do
    assert Rorqual.Template.render("<p>{{ name }}</p>", %{name: "a<b"}) |> IO.iodata_to_binary() ==
             "<p>a&lt;b</p>"

    File.write!(Path.join(folder, "list.txt"), "{% for item in items %}{{ item }}\n{% endfor %}")
    pieces = Rorqual.Template.render_stream!("list.txt", %{items: Enum.to_list(1..50_000)}, folder: folder)
    assert Enum.join(pieces) == Enum.map_join(1..50_000, &"#{&1}\n")
    assert %{kind: :template} = assert_raise(Rorqual.Error, fn -> Rorqual.Template.render("{{ a", %{}) end)
  end

  test "a store keeps what a process has, until it ends", %{folder: folder} do
    events = self()
    on_event = fn name, %{duration: _}, _ -> send(events, {:event, name}) end

    store =
      start_supervised!({Rorqual.Store, dir: Path.join(folder, "store"), max: "1MiB", on_event: on_event})

    entry = Rorqual.Store.put!(store, [String.duplicate("a", 600_000)], name: "first")
    assert entry.new and entry.digest == Rorqual.hash!([String.duplicate("a", 600_000)])
    assert_received {:event, [:rorqual, :store, :put, :stop]}

    holder =
      spawn(fn ->
        send(events, {:got, Rorqual.Store.get(store, "first")})
        Process.sleep(:infinity)
      end)

    assert_receive {:got, %{path: path, bytes: 600_000}}, 10_000
    assert File.stat!(path).size == 600_000
    # There is no room beside an entry that somebody has.
    assert_raise Rorqual.Error, fn -> Rorqual.Store.put!(store, [String.duplicate("b", 600_000)]) end
    refute Rorqual.Store.remove(store, "first")
    Process.exit(holder, :kill)
    eventually(fn -> Rorqual.Store.remove(store, "first") end)
    assert Rorqual.Store.get(store, "first") == nil
    Rorqual.Store.put!(store, ["abc"], name: "small")
    assert Rorqual.Store.stream!(store, "small") |> Enum.join() == "abc"
    assert Rorqual.Store.usage(store).entries == 1
    assert Rorqual.Store.remove(store, "small")
  end

  test "a download is whole, or an error", %{folder: folder} do
    bytes = :crypto.strong_rand_bytes(3_000_000)
    digest = :crypto.hash(:sha256, bytes) |> Base.encode16(case: :lower)
    url = serve(bytes)
    path = Path.join(folder, "file")
    done = Rorqual.fetch!(url, into: path, sha256: digest, on_progress: self())
    assert %{size_bytes: 3_000_000, sha256: ^digest} = done
    assert File.read!(path) == bytes
    assert_received {:rorqual_fetch, ^url, {:started, 3_000_000, 0}}
    wrong = String.duplicate("0", 64)

    error =
      assert_raise Rorqual.Error, fn -> Rorqual.fetch!(url, into: path <> "2", sha256: wrong, retries: 0) end

    assert error.kind == :mismatch
    refute File.exists?(path <> "2")
  end

  test "a statement of SQL gives maps, or a text, and may begin with a comment", %{folder: folder} do
    program = script(folder, ~s(printf '{"n":1,"t":"a"}\\n{"n":null,"t":"b"}\\n'))

    with_program(program, fn ->
      assert Rorqual.query("SELECT", memory: "64MiB") |> Enum.to_list() == [
               %{"n" => 1, "t" => "a"},
               %{"n" => nil, "t" => "b"}
             ]
    end)

    words =
      with_program(script(folder, ~s(printf '%s|' "$@")), fn ->
        Rorqual.query("-- one\nSELECT 1", to: "csv") |> Enum.join()
      end)

    assert words == "query|--to|csv|--|-- one\nSELECT 1|"
    telling = script(folder, "echo 1; echo 'left out' >&2")
    tell = &send(self(), {:told, &1})
    assert with_program(telling, fn -> Rorqual.query("S", notes: tell) |> Enum.to_list() end) == [1]
    assert_received {:told, "left out"}
    failing = script(folder, "echo 'no such table' >&2; exit 2")

    error =
      assert_raise Rorqual.Error, fn ->
        with_program(failing, fn -> Rorqual.query("S") |> Enum.to_list() end)
      end

    assert %{kind: :program, message: "no such table"} = error

    error =
      assert_raise Rorqual.Error, fn ->
        with_program("/none", fn -> Rorqual.query("S") |> Enum.to_list() end)
      end

    assert error.kind == :io
  end

  test "a statement whose rows are left ends, and waits while nobody takes them", %{folder: folder} do
    program = script(folder, ~s(echo $$ > #{folder}/pid; while :; do echo '{"n":1}'; done))
    rows = with_program(program, fn -> Rorqual.query("S") |> Enum.take(3) end)
    assert length(rows) == 3
    pid = File.read!(Path.join(folder, "pid")) |> String.trim()
    eventually(fn -> Rorqual.live() == 0 and not File.exists?("/proc/#{pid}") end)
    silent = script(folder, "exec sleep 600")
    task = spawn(fn -> with_program(silent, fn -> Rorqual.query("S") |> Enum.to_list() end) end)
    eventually(fn -> Rorqual.live() == 1 end)
    Process.exit(task, :kill)
    eventually(fn -> Rorqual.live() == 0 end)
  end

  defp script(folder, text) do
    path = Path.join(folder, "program-#{System.unique_integer([:positive])}")
    File.write!(path, "#!/bin/sh\n" <> text <> "\n")
    File.chmod!(path, 0o755)
    path
  end

  defp with_program(path, work) do
    Application.put_env(:rorqual, :program, path)
    work.()
  after
    Application.delete_env(:rorqual, :program)
  end

  test "streams that are left, and those whose owner is killed, end", %{folder: folder} do
    path = Path.join(folder, "large.log")
    File.write!(path, List.duplicate(File.read!(@sample), 4))
    options = [fields: [:status], notes: fn _ -> :ok end, memory: "64MiB"]
    for _ <- 1..200, do: assert(length(Rorqual.Log.stream!(path, options) |> Enum.take(1)) == 1)
    eventually(fn -> Rorqual.live() == 0 end)

    owners =
      for _ <- 1..50 do
        spawn(fn -> Rorqual.Log.stream!(path, options) |> Enum.each(fn _ -> Process.sleep(1) end) end)
      end

    eventually(fn -> Rorqual.live() > 0 end)
    Enum.each(owners, &Process.exit(&1, :kill))
    eventually(fn -> Rorqual.live() == 0 end)
    assert {:messages, []} = Process.info(self(), :messages)
  end

  test "the memory of the VM is that of what is held, however large the log" do
    block = List.duplicate(File.read!(@sample), 10)
    log = Stream.flat_map(1..20, fn _ -> block end)
    before = peak_bytes()
    options = [fields: [:path, :status], where: "status >= 400", notes: fn _ -> :ok end, memory: "64MiB"]
    assert Rorqual.Log.stream!(log, options) |> Enum.reduce(0, fn _, count -> count + 1 end) > 0
    # 470 MB went through.
    assert peak_bytes() - before < 128 * 1024 * 1024
  end

  test "a timer is on time while all threads work" do
    block = List.duplicate(File.read!(@sample), 10)
    task = Task.async(fn -> Rorqual.hash!(Stream.flat_map(1..20, fn _ -> block end), :sha512) end)
    worst = late(task, 0)
    assert Task.await(task, 60_000) |> byte_size() == 128
    # A scheduler that was held for the work would be late by seconds.
    assert worst < 500_000
  end

  defp late(task, worst) do
    start = System.monotonic_time(:microsecond)
    Process.sleep(1)
    worst = max(worst, System.monotonic_time(:microsecond) - start)
    if Process.alive?(task.pid), do: late(task, worst), else: worst
  end

  defp peak_bytes do
    [_, kib] = Regex.run(~r/VmHWM:\s+(\d+)/, File.read!("/proc/self/status"))
    String.to_integer(kib) * 1024
  end

  # A server of one file, which closes each connection.
  defp serve(bytes) do
    {:ok, listener} = :gen_tcp.listen(0, [:binary, active: false, ip: {127, 0, 0, 1}, reuseaddr: true])
    {:ok, port} = :inet.port(listener)
    start_supervised!({Task, fn -> answer(listener, bytes) end})
    "http://127.0.0.1:#{port}/file"
  end

  defp answer(listener, bytes) do
    {:ok, socket} = :gen_tcp.accept(listener)
    {:ok, _} = :gen_tcp.recv(socket, 0)
    head = "HTTP/1.1 200 OK\r\ncontent-length: #{byte_size(bytes)}\r\nconnection: close\r\n\r\n"
    :gen_tcp.send(socket, [head, bytes])
    :gen_tcp.close(socket)
    answer(listener, bytes)
  end
end
