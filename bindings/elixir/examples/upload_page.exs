# A page that shows the histogram of a log while it is uploaded: mix run examples/upload_page.exs [PORT]
#
# It is what `Rorqual.UploadWriter` does in a LiveView, without any package: a server of HTTP/1.1 by
# `:gen_tcp`, an upload by `fetch`, and reports as server-sent events.

defmodule UploadPage do
  @page """
  <!doctype html><meta charset="utf-8"><title>Histogram of an upload</title>
  <style>body{font:16px sans-serif;max-width:60em;margin:2em auto} svg{width:100%;height:12em}</style>
  <h1>Histogram of an upload</h1><input type="file"><p></p><svg preserveAspectRatio="none"></svg>
  <script>
    const [input, text, plot] = ["input", "p", "svg"].map(name => document.querySelector(name));
    new EventSource("/reports").onmessage = event => {
      const {lines, counts} = JSON.parse(event.data), most = Math.max(1, ...counts);
      text.textContent = `${lines} lines`;
      plot.setAttribute("viewBox", `0 0 ${counts.length || 1} ${most}`);
      plot.innerHTML = counts.map((n, x) => `<rect x="${x}" y="${most - n}" width="0.9" height="${n}"/>`).join("");
    };
    input.onchange = async () => {
      const answer = await fetch("/upload", {method: "POST", body: input.files[0]});
      if (!answer.ok) text.textContent = await answer.text();
    };
  </script>
  """

  # Bytes of a body that are asked of the socket at a time. No more are read until they were taken: a
  # browser that sends faster than the log is read waits.
  @piece 65_536

  def run(port, say \\ &IO.puts/1) do
    options = [:binary, active: false, packet: :http_bin, ip: {127, 0, 0, 1}, reuseaddr: true]
    {:ok, listener} = :gen_tcp.listen(port, options)
    {:ok, port} = :inet.port(listener)
    {:ok, _} = Registry.start_link(keys: :duplicate, name: UploadPage.Pages)
    say.("http://127.0.0.1:#{port}/")
    accept(listener)
  end

  defp accept(listener) do
    {:ok, socket} = :gen_tcp.accept(listener)
    server = spawn(fn -> receive(do: (:yours -> serve(socket))) end)
    :ok = :gen_tcp.controlling_process(socket, server)
    send(server, :yours)
    accept(listener)
  end

  defp serve(socket) do
    {:ok, {:http_request, method, {:abs_path, path}, _}} = :gen_tcp.recv(socket, 0)
    length = length_of_body(socket, 0)
    :ok = :inet.setopts(socket, packet: :raw)
    answer(socket, method, path, length)
    :gen_tcp.close(socket)
  end

  defp length_of_body(socket, length) do
    case :gen_tcp.recv(socket, 0) do
      {:ok, {:http_header, _, :"Content-Length", _, size}} -> length_of_body(socket, String.to_integer(size))
      {:ok, :http_eoh} -> length
      {:ok, _} -> length_of_body(socket, length)
    end
  end

  defp answer(socket, :GET, "/", _), do: respond(socket, "200 OK", "text/html; charset=utf-8", @page)

  defp answer(socket, :GET, "/reports", _) do
    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\n\r\n"
    {:ok, _} = Registry.register(UploadPage.Pages, :reports, nil)
    with :ok <- :gen_tcp.send(socket, head), do: events(socket)
  end

  defp answer(socket, :POST, "/upload", length) do
    server = self()
    pages = spawn(fn -> Process.monitor(server) && tell_pages() end)
    {:ok, state} = Rorqual.UploadWriter.init(to: pages, memory: "64MiB")

    case write(socket, length, state) do
      {:ok, state} ->
        case Rorqual.UploadWriter.close(state, :done) do
          {:ok, _state} -> respond(socket, "200 OK", "text/plain", "done\n")
          {:error, error} -> refuse(socket, error)
        end

      {:error, error, state} ->
        Rorqual.UploadWriter.close(state, {:error, error})
        refuse(socket, error)
    end
  end

  defp answer(socket, _, _, _), do: respond(socket, "404 Not Found", "text/plain", "not found\n")

  defp write(_socket, 0, state), do: {:ok, state}

  defp write(socket, length, state) do
    with {:ok, bytes} <- :gen_tcp.recv(socket, min(length, @piece)),
         {:ok, state} <- Rorqual.UploadWriter.write_chunk(bytes, state) do
      write(socket, length - byte_size(bytes), state)
    else
      {:error, error, state} -> {:error, error, state}
      {:error, reason} -> {:error, reason, state}
    end
  end

  # Reports of one upload go to all pages that are open.
  defp tell_pages do
    receive do
      {:rorqual_report, _, report} ->
        counts = counts(report["histogram"])
        event = ~s({"lines":#{report["lines"]["total"]},"counts":[#{Enum.join(counts, ",")}]})
        Registry.dispatch(UploadPage.Pages, :reports, &for({page, _} <- &1, do: send(page, {:event, event})))
        tell_pages()

      {:DOWN, _, :process, _, _} ->
        :ok
    end
  end

  # Lines of each bucket of time, of all status classes together.
  defp counts(nil), do: []
  defp counts(histogram), do: histogram["series"] |> Enum.map(& &1["hits"]) |> Enum.zip_with(&Enum.sum/1)

  defp events(socket) do
    receive do
      {:event, event} -> with :ok <- :gen_tcp.send(socket, "data: #{event}\n\n"), do: events(socket)
    end
  end

  defp refuse(socket, %Rorqual.Error{message: message}), do: refuse(socket, message)
  defp refuse(socket, reason) when is_atom(reason), do: refuse(socket, Atom.to_string(reason))
  defp refuse(socket, text), do: respond(socket, "422 Unprocessable Content", "text/plain", text)

  defp respond(socket, status, type, body) do
    head = "HTTP/1.1 #{status}\r\ncontent-type: #{type}\r\ncontent-length: #{byte_size(body)}\r\n"
    :gen_tcp.send(socket, [head, "connection: close\r\n\r\n", body])
  end
end

if Mix.env() != :test, do: System.argv() |> List.first("0") |> String.to_integer() |> UploadPage.run()
