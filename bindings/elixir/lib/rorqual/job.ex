defmodule Rorqual.Job do
  @moduledoc false
  # An operation of the native library: it is begun, asked for items, and heard as messages.

  alias Rorqual.{Feed, Native}

  defstruct [:id, :job, :feeds]

  @doc "Begins an operation on sources, each a path or an enumerable of iodata."
  def start(sources, begin) do
    id = System.unique_integer([:positive])
    feeds = Enum.map(sources, &Feed.of/1)
    job = begin.(id, Enum.map(feeds, & &1.source))
    %__MODULE__{id: id, job: job, feeds: feeds}
  end

  @doc "The next item, `:done`, or an exception."
  def next(%__MODULE__{id: id} = job) do
    Native.demand(job.job)

    receive do
      {:rorqual, ^id, {:item, item}} -> {:ok, item}
      {:rorqual, ^id, :done} -> ended(id)
      {:rorqual, ^id, {:failed, fields}} -> failed(id, fields)
    end
  end

  defp failed(id, fields) do
    ended(id)
    raise Rorqual.Error, fields
  end

  defp ended(id) do
    Process.put({__MODULE__, id}, :ended)
    :done
  end

  @doc "The last item of a download; those before it, and the bytes so far, are told to `tell`."
  def told(%__MODULE__{id: id} = job, tell) do
    Native.demand(job.job)
    wait(job, id, tell)
  end

  @progress_every 100

  defp wait(job, id, tell) do
    receive do
      {:rorqual, ^id, {:item, %{} = done}} ->
        done

      {:rorqual, ^id, {:item, event}} ->
        tell.(event)
        told(job, tell)

      {:rorqual, ^id, {:failed, fields}} ->
        failed(id, fields)
    after
      @progress_every ->
        tell.({:bytes, Native.progress(job.job)})
        wait(job, id, tell)
    end
  end

  @doc "Ends an operation, and leaves no message of it."
  def close(%__MODULE__{id: id} = job) do
    Native.stop(job.job)
    Enum.each(job.feeds, &Feed.close/1)
    if Process.delete({__MODULE__, id}) != :ended, do: flush(id)
    :ok
  end

  # The thread of an operation says last that it has ended.
  defp flush(id) do
    receive do
      {:rorqual, ^id, {:item, _}} -> flush(id)
      {:rorqual, ^id, _} -> :ok
    end
  end

  @doc "The one result of an operation."
  def result(sources, begin) do
    job = start(sources, begin)

    try do
      {:ok, item} = next(job)
      item
    after
      close(job)
    end
  end

  @doc "The items of an operation, which begins when the first is asked for."
  def stream(sources, begin) do
    Stream.resource(
      fn -> start(sources, begin) end,
      fn job ->
        case next(job) do
          {:ok, item} -> {[item], job}
          :done -> {:halt, job}
        end
      end,
      &close/1
    )
  end
end
