defmodule Rorqual.MixProject do
  use Mix.Project

  def project do
    [
      app: :rorqual,
      version: "0.1.0",
      elixir: "~> 1.14",
      compilers: [:rorqual_native | Mix.compilers()],
      elixirc_options: [warnings_as_errors: true],
      deps: [],
      description: "Files of any size, in the memory you give it",
      package: [licenses: ["MIT", "Apache-2.0"], files: ["lib", "native", "priv", "mix.exs", "README.md"]]
    ]
  end

  def application, do: [extra_applications: [:logger]]
end

defmodule Mix.Tasks.Compile.RorqualNative do
  @moduledoc """
  Puts the native library into `priv/native`: the one that `RORQUAL_NIF` names, one that is there
  already, or else one that cargo builds.
  """

  use Mix.Task.Compiler

  @target "priv/native/librorqual_nif.so"

  def run(_arguments) do
    File.mkdir_p!(Path.dirname(@target))

    case System.get_env("RORQUAL_NIF") do
      nil -> if File.exists?(@target), do: {:noop, []}, else: build()
      path -> copy(path)
    end
  end

  defp copy(path) do
    # A file in use is never written into: a running VM has it mapped.
    File.cp!(path, @target <> ".new")
    File.rename!(@target <> ".new", @target)
    link()
  end

  defp build do
    arguments = ~w(build --release --locked -p rorqual-elixir --message-format=short)
    {_, 0} = System.cmd("cargo", arguments, cd: "native", into: IO.stream())
    {metadata, 0} = System.cmd("cargo", ~w(metadata --format-version 1 --no-deps), cd: "native")
    [_, target] = Regex.run(~r/"target_directory":"([^"]+)"/, metadata)
    copy(Path.join(target, "release/librorqual_nif.so"))
  end

  defp link do
    Mix.Project.build_structure()
    {:ok, []}
  end
end
