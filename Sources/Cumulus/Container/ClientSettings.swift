// The fixed settings of a client: its nodes, the caller, and its timeouts.
//
// `Container` and `NodeOperator` make it of their configuration.

import CumulusModel
import CumulusWire

struct ClientSettings: Sendable {
    var endpoints: [String]
    /// Tokens that the first calls must cover.
    var session: [Bytes] = []
    var connections: Int
    /// Other nodes that are to hold a change; nil means as the node is set up.
    var replicas: UInt32?
    var hello: Hello
    /// Signs the greeting; nil means it goes out as it is.
    var signer: GreetingSigner?
    /// The caller shows nothing.
    var isAnonymous: Bool { hello.token.isEmpty && signer == nil }
    var assetDirectory = ""
    var assetCacheBytes: UInt64 = 1 << 30
    /// The keys that seal and open encrypted fields.
    var keyring = Keyring([], container: "")
    /// Milliseconds that a call may take, retries included.
    var callMilliseconds: Int64
    /// Calls don't wait for a node if none was ever reached, and none listens at any endpoint.
    var failsFast = false
    var waitingLimit = 1_000
    /// How long it may take to connect to a node and to be greeted.
    var attemptMilliseconds = Limits.standard.greetingMilliseconds
    /// How long a server that owes an answer may say nothing, twice, before it is given up.
    var silenceMilliseconds: Int64 = 10_000
    /// Later only in a test: see `ClientConnection.lastStream`.
    var firstStream: UInt32 = 1
    /// The first pause between two attempts: it doubles each time, up to the longest, with jitter.
    var firstBackoffMilliseconds: Int64 = 50
    var longestBackoffMilliseconds: Int64 = 2_000

    /// How long to wait after so many attempts that failed, less the first one.
    func backoff(_ attempt: Int, _ random: @escaping @Sendable () -> UInt64) -> Int64 {
        let doubled = firstBackoffMilliseconds << Int64(min(attempt, 16))
        let longest = min(doubled, longestBackoffMilliseconds)
        var dice = ClientDice(random: random)
        return Int64.random(in: longest / 2...longest, using: &dice)
    }
}
