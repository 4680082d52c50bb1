defmodule Rorqual.Error do
  @moduledoc """
  An operation that failed.

  `kind` is one word: `:io`, `:corrupt`, `:truncated`, `:mismatch`, `:limit`, `:memory`, `:argument`,
  `:template`, `:connect`, `:answer`, `:broken`, `:timeout`, `:stopped`, `:program` or `:defect`.
  `name` is the input, `offset` the place in the decoded input in bytes, and `needed_bytes` the memory
  that would be enough, where it was too little.
  """
  defexception [:kind, :message, :name, :offset, :needed_bytes]
end
