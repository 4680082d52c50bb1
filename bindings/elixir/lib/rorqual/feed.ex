defmodule Rorqual.Feed do
  @moduledoc false
  # A source: a path, or an enumerable that a process of its own gives piece by piece, as the reader
  # takes them.

  alias Rorqual.Native

  defstruct [:source, :process]

  def of(path) when is_binary(path), do: %__MODULE__{source: Path.expand(path)}

  def of(enumerable) do
    owner = self()
    id = System.unique_integer([:positive])

    process =
      spawn_link(fn ->
        feed = Native.feed_new(id)
        send(owner, {:rorqual_feed, id, feed})
        give_all(enumerable, feed, id, owner)
      end)

    receive do
      {:rorqual_feed, ^id, feed} -> %__MODULE__{source: feed, process: process}
    end
  end

  def close(%__MODULE__{process: nil}), do: :ok

  def close(%__MODULE__{process: process}) do
    monitor = Process.monitor(process)
    Process.unlink(process)
    Process.exit(process, :kill)

    receive do
      {:DOWN, ^monitor, :process, _, _} -> :ok
    end
  end

  # An enumerable that raises ends its operation with that: its bytes so far would look whole.
  defp give_all(enumerable, feed, id, owner) do
    enumerable
    |> Enum.reduce_while(:ok, fn piece, _ -> give(feed, IO.iodata_to_binary(piece), id) end)
    |> case do
      :ok -> wait(fn -> Native.feed_end(feed) end, id)
      :closed -> :ok
    end
  catch
    kind, reason ->
      Process.unlink(owner)
      :erlang.raise(kind, reason, __STACKTRACE__)
  end

  # In pieces of a size, so that one large binary does not take memory twice.
  @piece 262_144

  @doc "The next piece of bytes, and the rest."
  def cut(<<piece::binary-size(@piece), rest::binary>>), do: {piece, rest}
  def cut(piece), do: {piece, ""}

  defp give(feed, bytes, id) do
    {piece, rest} = cut(bytes)

    case wait(fn -> Native.feed_give(feed, piece) end, id) do
      :ok when rest == "" -> {:cont, :ok}
      :ok -> give(feed, rest, id)
      :closed -> {:halt, :closed}
    end
  end

  defp wait(try, id) do
    case try.() do
      :full ->
        receive do
          {:rorqual_room, ^id} -> wait(try, id)
        end

      other ->
        other
    end
  end
end
