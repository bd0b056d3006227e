// Checks that other nodes can believe this node's certificate.
//
// A node whose certificate is by an authority that its cluster does not trust, or for another
// name, is ready and takes saves; but no other node reads from it. So it calls its own address as
// they do, once a minute, since certificates are renewed while it runs. Its log and
// `cluster status` say what is wrong. It goes on: the operator may be about to renew, and what was
// saved is kept.
//
// Run by `Wiring` on nodes with a certificate that name an authority.

import CumulusModel
import CumulusNode
import CumulusTransport
import CumulusWire

struct OwnAddress {
    let node: Node
    /// Empty: the node has no address that others know.
    let endpoint: String
    let dialer: NIOFrameDialer

    /// Returns when the task is cancelled.
    func run() async {
        while !endpoint.isEmpty, !Task.isCancelled {
            await check()
            try? await Task.sleep(for: .seconds(60))
        }
    }

    private func check() async {
        do {
            try await dialer.connect(to: endpoint) { link, _ in
                link.needsTurn()
                return Goodbye()
            }
            node.noteOwnAddress(endpoint, problem: nil)
        } catch NIOFrameDialer.Failure.untrusted(let reason) {
            node.noteOwnAddress(endpoint, problem: reason)
        } catch {
            // Other nodes may well reach an address that this machine does not.
        }
    }
}

/// Closes a connection as soon as it is made.
private final class Goodbye: FrameHandler {
    func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {}
    func turnEnded(now: Instant) -> Turn { Turn(output: FrameOutput(), wake: nil, closes: true) }
    func timePassed(now: Instant) {}
    func writing(_ pendingBytes: Int, now: Instant) {}
    func closed() {}
}
