defmodule Rorqual.Store do
  @moduledoc """
  Files by content, of bounded size, below a supervisor.

      children = [{Rorqual.Store, dir: "/var/cache/app", max: "10GiB", name: MyApp.Files}]

  An entry that a process has got stays until that process lets go of it or ends, however it ends.

  Each operation is an event in the shape of `:telemetry`: `[:rorqual, :store, operation, :stop]` with
  `%{duration: native_time}` and metadata. They go to `:telemetry.execute/3` where that is there, and to
  the function `:on_event` of three arguments, if given.
  """

  use GenServer
  alias Rorqual.{Job, Native, Options}

  @doc "Starts a store. Options: `:dir`, `:max`, `:name`, `:on_event`."
  def start_link(options) do
    {name, options} = Keyword.split(options, [:name])
    GenServer.start_link(__MODULE__, Keyword.validate!(options, [:dir, :on_event, max: nil]), name)
  end

  @doc """
  Takes a source in, as it is stored; `:name` gives it a name. Returns `%{digest:, bytes:, new:, evicted:}`.
  The calling process does the work, so that many may at a time.
  """
  def put!(store, source, options \\ []) do
    name = Keyword.validate!(options, name: nil)[:name]

    timed(store, :put, fn handle ->
      Job.result([source], fn id, [source] -> Native.store_put(id, handle, source, name) end)
    end)
  end

  @doc """
  The entry of a digest, the start of one, or a name: `%{digest:, bytes:, path:}`, or `nil`.
  It stays for the calling process until `release/2` or that process's end.
  """
  def get(store, key) do
    timed(store, :get, fn handle ->
      case Job.result([], fn id, [] -> Native.store_get(id, handle, key) end) do
        nil ->
          nil

        {entry, digest, bytes, path} ->
          :ok = GenServer.call(store, {:hold, digest, entry}, :infinity)
          %{digest: digest, bytes: bytes, path: path}
      end
    end)
  end

  @doc "The bytes of an entry in pieces, while they are taken; the entry stays until then."
  def stream!(store, key, bytes \\ 262_144) do
    Stream.resource(
      fn ->
        get(store, key) || raise(Rorqual.Error, kind: :io, message: "#{key}: is not in the store", name: key)
      end,
      fn
        {file, entry} ->
          case :file.read(file, bytes) do
            {:ok, piece} -> {[piece], {file, entry}}
            :eof -> {:halt, {file, entry}}
            {:error, reason} -> raise File.Error, reason: reason, action: "read", path: entry.path
          end

        entry ->
          {[], {File.open!(entry.path, [:read, :raw, :binary]), entry}}
      end,
      fn
        {file, entry} -> File.close(file) && release(store, entry.digest)
        entry -> release(store, entry.digest)
      end
    )
  end

  @doc "Lets go of an entry that this process has got; of one that it got twice once."
  def release(store, digest), do: GenServer.call(store, {:release, digest}, :infinity)

  @doc "Removes an entry; `false` where there is none, or somebody has it."
  def remove(store, key) do
    timed(store, :remove, fn handle ->
      Job.result([], fn id, [] -> Native.store_remove(id, handle, key) end)
    end)
  end

  @doc "Totals: entries, bytes, bytes_max, leases, names."
  def usage(store) do
    timed(store, :usage, fn handle -> Job.result([], fn id, [] -> Native.store_usage(id, handle) end) end)
  end

  defp timed(store, operation, work) do
    {handle, on_event} = GenServer.call(store, :handle, :infinity)
    start = System.monotonic_time()
    result = work.(handle)

    event(
      [:rorqual, :store, operation, :stop],
      %{duration: System.monotonic_time() - start},
      %{result: result},
      on_event
    )

    result
  end

  defp event(name, measurements, metadata, on_event) do
    if on_event, do: on_event.(name, measurements, metadata)

    if Code.ensure_loaded?(:telemetry) do
      apply(:telemetry, :execute, [name, measurements, metadata])
    end
  end

  @impl true
  def init(options) do
    max = options[:max] && Options.bytes(options[:max])
    dir = Path.expand(Keyword.fetch!(options, :dir))

    try do
      handle = Job.result([], fn id, [] -> Native.store_open(id, dir, max) end)
      {:ok, %{handle: handle, on_event: options[:on_event], held: %{}}}
    rescue
      error in Rorqual.Error -> {:stop, error}
    end
  end

  @impl true
  def handle_call(:handle, _from, state), do: {:reply, {state.handle, state.on_event}, state}

  def handle_call({:hold, digest, entry}, {owner, _}, state) do
    {monitor, entries} = Map.get_lazy(state.held, owner, fn -> {Process.monitor(owner), []} end)
    {:reply, :ok, put_in(state.held[owner], {monitor, [{digest, entry} | entries]})}
  end

  def handle_call({:release, digest}, {owner, _}, state) do
    with {monitor, entries} <- state.held[owner],
         {{_, entry}, entries} <- List.keytake(entries, digest, 0) do
      Native.entry_close(entry)
      {:reply, true, let_go(state, owner, monitor, entries)}
    else
      _ -> {:reply, false, state}
    end
  end

  @impl true
  def handle_info({:DOWN, _monitor, :process, owner, _reason}, state) do
    {held, rest} = Map.pop(state.held, owner)
    with {_, entries} <- held, do: Enum.each(entries, fn {_, entry} -> Native.entry_close(entry) end)
    {:noreply, %{state | held: rest}}
  end

  defp let_go(state, owner, monitor, []) do
    Process.demonitor(monitor, [:flush])
    %{state | held: Map.delete(state.held, owner)}
  end

  defp let_go(state, owner, monitor, entries), do: put_in(state.held[owner], {monitor, entries})
end
