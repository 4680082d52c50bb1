defmodule Rorqual.Upload do
  @moduledoc false
  # The process of an upload that is read while it comes. It owns the feed and the operation, so that the
  # process that gives bytes gets no messages but answers. It ends with that process.

  use GenServer
  alias Rorqual.{Feed, Native}

  def start(owner, to, id, report), do: GenServer.start(__MODULE__, {owner, to, id, report})

  @doc "Gives bytes: `:ok` when they were taken, or `{:error, error}`."
  def give(upload, bytes) do
    with {:ok, _report} <- call(upload, {:give, bytes}), do: :ok
  end

  @doc "Ends the bytes: `{:ok, report}` of all of them, or `{:error, error}`."
  def finish(upload), do: call(upload, :finish)

  def stop(upload) do
    GenServer.stop(upload)
  catch
    :exit, _ -> :ok
  end

  defp call(upload, request) do
    GenServer.call(upload, request, :infinity)
  catch
    :exit, _ -> {:error, %Rorqual.Error{kind: :stopped, message: "the upload has ended"}}
  end

  @impl true
  def init({owner, to, id, report}) do
    Process.monitor(owner)
    feed_id = System.unique_integer([:positive])
    job_id = System.unique_integer([:positive])
    feed = Native.feed_new(feed_id)
    job = Native.reports(job_id, Map.put(report, :sources, [feed]))
    Native.demand(job)
    ids = %{feed_id: feed_id, job_id: job_id, to: to, id: id, owner: owner}
    {:ok, Map.merge(ids, %{feed: feed, job: job, waiting: nil, report: nil, error: nil})}
  end

  @impl true
  def handle_call(_request, _from, %{error: error} = state) when error != nil do
    {:reply, {:error, error}, state}
  end

  def handle_call({:give, bytes}, from, state) do
    {:noreply, try_again(%{state | waiting: {from, IO.iodata_to_binary(bytes)}})}
  end

  def handle_call(:finish, from, state), do: {:noreply, try_again(%{state | waiting: {from, :end}})}

  @impl true
  def handle_info({:rorqual_room, id}, %{feed_id: id} = state), do: {:noreply, try_again(state)}

  def handle_info({:rorqual, id, {:item, report}}, %{job_id: id} = state) do
    send(state.to, {:rorqual_report, state.id, report})
    Native.demand(state.job)
    {:noreply, %{state | report: report}}
  end

  def handle_info({:rorqual, id, :done}, %{job_id: id} = state) do
    with {from, _} <- state.waiting, do: GenServer.reply(from, {:ok, state.report})
    {:stop, :normal, state}
  end

  def handle_info({:rorqual, id, {:failed, fields}}, %{job_id: id} = state) do
    error = struct(Rorqual.Error, fields)
    with {from, _} <- state.waiting, do: GenServer.reply(from, {:error, error})
    {:noreply, %{state | waiting: nil, error: error}}
  end

  def handle_info({:DOWN, _, :process, owner, _}, %{owner: owner} = state), do: {:stop, :normal, state}
  def handle_info(_other, state), do: {:noreply, state}

  @impl true
  def terminate(_reason, state), do: Native.stop(state.job)

  # The answer to who waits: at once, when there is room, or when the operation says how it ended.
  defp try_again(%{waiting: {from, bytes}} = state) when is_binary(bytes) do
    {piece, rest} = Feed.cut(bytes)

    case Native.feed_give(state.feed, piece) do
      :ok when rest == "" ->
        GenServer.reply(from, :ok)
        %{state | waiting: nil}

      :ok ->
        try_again(%{state | waiting: {from, rest}})

      _full_or_closed ->
        state
    end
  end

  defp try_again(%{waiting: {from, :end}} = state) do
    case Native.feed_end(state.feed) do
      :ok -> %{state | waiting: {from, :ended}}
      _full_or_closed -> state
    end
  end

  defp try_again(state), do: state
end
