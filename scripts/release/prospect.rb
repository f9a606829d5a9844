class Prospect < Formula
  desc "Enrich companies and contacts from the command-line"
  homepage "@URL@"
  version "@VERSION@"
  license "MIT"

  on_macos do
    on_arm do
      url "@URL@/prospect-@VERSION@-darwin-arm64.tar.gz"
      sha256 "@SUM_DARWIN_ARM64@"
    end
    on_intel do
      url "@URL@/prospect-@VERSION@-darwin-x64.tar.gz"
      sha256 "@SUM_DARWIN_X64@"
    end
  end

  on_linux do
    on_arm do
      url "@URL@/prospect-@VERSION@-linux-arm64.tar.gz"
      sha256 "@SUM_LINUX_ARM64@"
    end
    on_intel do
      url "@URL@/prospect-@VERSION@-linux-x64.tar.gz"
      sha256 "@SUM_LINUX_X64@"
    end
  end

  def install
    libexec.install Dir["*"]
    (libexec/"lib/app/installed").atomic_write "with Homebrew\nRun: brew upgrade prospect\n"
    bin.install_symlink libexec/"bin/prospect"
    man1.install_symlink Dir[libexec/"share/man/man1/*"]
    bash_completion.install_symlink libexec/"share/bash-completion/completions/prospect"
    zsh_completion.install_symlink libexec/"share/zsh/site-functions/_prospect"
    fish_completion.install_symlink libexec/"share/fish/vendor_completions.d/prospect.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/prospect --version")
  end
end
