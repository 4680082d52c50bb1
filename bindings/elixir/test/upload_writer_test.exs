defmodule Rorqual.UploadWriterTest do
  use ExUnit.Case, async: false
  alias Rorqual.UploadWriter

  @compile {:no_warn_undefined, UploadPage}
  @sample Path.expand("../../../samples/apache_combined.log", __DIR__)

  # As the channel of a LiveView calls a writer.
  defp upload(pieces, options) do
    {:ok, state} = UploadWriter.init([to: self(), id: :log] ++ options)

    written =
      Enum.reduce_while(pieces, {:ok, state}, fn piece, {:ok, state} ->
        case UploadWriter.write_chunk(piece, state) do
          {:ok, state} -> {:cont, {:ok, state}}
          {:error, error, state} -> {:halt, {:error, error, state}}
        end
      end)

    # A failure is told by the first call after it.
    with {:ok, state} <- written,
         {:ok, state} <- UploadWriter.close(state, :done) do
      {:ok, UploadWriter.meta(state)}
    else
      {:error, error, state} ->
        {:ok, _} = UploadWriter.close(state, {:error, :writer_failure})
        {:error, error}

      {:error, error} ->
        {:error, error}
    end
  end

  defp reports(reports \\ []) do
    receive do
      {:rorqual_report, :log, report} -> reports([report | reports])
    after
      0 -> Enum.reverse(reports)
    end
  end

  defp nothing_lives(tries \\ 500) do
    cond do
      Rorqual.live() == 0 -> :ok
      tries == 0 -> flunk("#{Rorqual.live()} operations are left")
      true -> Process.sleep(10) && nothing_lives(tries - 1)
    end
  end

  test "the last report is that of the whole log, and earlier ones come meanwhile" do
    pieces = File.stream!(@sample, [], 65_536)
    {:ok, meta} = upload(Stream.map(pieces, &(Process.sleep(5) && &1)), every: 20, top: 3)
    wanted = Rorqual.Log.report(@sample, top: 3)
    for part <- ["lines", "histogram", "status", "panels"], do: assert(meta.report[part] == wanted[part])
    {before, [last]} = Enum.split(reports(), -1)
    assert last == meta.report and last["complete"]
    assert before != [] and Enum.all?(before, &(&1["complete"] == false))
    assert {:messages, []} = Process.info(self(), :messages)
    nothing_lives()
  end

  test "a compressed log is read as well, and a filter counts" do
    bytes = :zlib.gzip(File.read!(@sample))
    {:ok, meta} = upload([bytes], where: "status >= 500")
    assert meta.report["lines"] == Rorqual.Log.report(@sample, where: "status >= 500")["lines"]
  end

  test "an upload that is no log ends with an error, and the process goes on" do
    pieces = Stream.repeatedly(fn -> :crypto.strong_rand_bytes(65_536) end) |> Stream.take(1000)
    assert {:error, %Rorqual.Error{}} = upload(pieces, [])
    assert {:error, %Rorqual.Error{kind: :argument}} = UploadWriter.init(to: self(), memory: "much")
    assert {:error, %Rorqual.Error{kind: :memory}} = upload([File.read!(@sample)], memory: 1)
    reports()
    nothing_lives()
  end

  test "an upload that is cancelled, or whose process is killed, leaves nothing" do
    block = File.read!(@sample)
    {:ok, state} = UploadWriter.init(to: self())
    {:ok, state} = UploadWriter.write_chunk(block, state)
    {:ok, _} = UploadWriter.close(state, :cancel)
    nothing_lives()
    test = self()

    owners =
      for _ <- 1..20 do
        spawn(fn ->
          {:ok, state} = UploadWriter.init(to: test)
          send(test, {:begun, state.upload})
          Stream.repeatedly(fn -> block end) |> Enum.each(&({:ok, _} = UploadWriter.write_chunk(&1, state)))
        end)
      end

    uploads = for _ <- owners, do: assert_receive({:begun, _}, 10_000) |> elem(1)
    Enum.each(owners, &Process.exit(&1, :kill))
    nothing_lives()
    refute Enum.any?(uploads, &Process.alive?/1)
  end

  test "the example shows an upload on its page" do
    Code.require_file("../examples/upload_page.exs", __DIR__)
    test = self()
    start_supervised!({Task, fn -> UploadPage.run(0, &send(test, {:address, &1})) end})
    assert_receive {:address, address}, 10_000
    port = URI.parse(address).port
    assert request(port, "GET / HTTP/1.1\r\n\r\n") =~ "new EventSource"
    {:ok, page} = connect(port)
    :ok = :gen_tcp.send(page, "GET /reports HTTP/1.1\r\n\r\n")
    assert {:ok, "HTTP/1.1 200 OK" <> _} = :gen_tcp.recv(page, 0, 10_000)
    bytes = File.read!(@sample)
    head = "POST /upload HTTP/1.1\r\ncontent-length: #{byte_size(bytes)}\r\n\r\n"
    assert request(port, [head, bytes]) =~ "200 OK"
    lines = Rorqual.Log.report(@sample)["lines"]["total"]
    assert events(page, ~s("lines":#{lines},), "") =~ ~r/"counts":\[[0-9]/
    nothing_lives()
  end

  defp connect(port), do: :gen_tcp.connect({127, 0, 0, 1}, port, [:binary, active: false])

  defp request(port, bytes) do
    {:ok, socket} = connect(port)
    :ok = :gen_tcp.send(socket, bytes)
    answer(socket, "")
  end

  defp answer(socket, so_far) do
    case :gen_tcp.recv(socket, 0, 30_000) do
      {:ok, bytes} -> answer(socket, so_far <> bytes)
      {:error, :closed} -> so_far
    end
  end

  defp events(socket, wanted, so_far) do
    if so_far =~ wanted do
      so_far
    else
      {:ok, bytes} = :gen_tcp.recv(socket, 0, 10_000)
      events(socket, wanted, so_far <> bytes)
    end
  end
end
