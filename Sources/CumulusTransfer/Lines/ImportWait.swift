// What an import says while no answer comes, and when it no longer waits for a connection.
//
// `Importer` tells it of its calls. `ImportWait` decides by values, and has no clock of its own;
// `ImportWatch` looks at the connection while the calls are under way, says what there is to say,
// and ends the import by an error.

import Cumulus
import CumulusModel
import CumulusTerminal
import Synchronization

/// The calls that are under way, and how long nothing has come of them.
struct ImportWait {
    enum Step: Equatable {
        case wait
        /// No answer has come for so long, which people should know.
        case tell(Duration)
        case giveUp
    }

    /// How long there may be no connection.
    let patience: Duration
    private(set) var saved = 0
    private var underWay = 0
    private var lastAnswer: ContinuousClock.Instant?
    private var lastTold: ContinuousClock.Instant?
    private var lost: ContinuousClock.Instant?

    private static let firstSilence = Duration.seconds(5)
    private static let pause = Duration.seconds(30)

    init(patience: Duration) {
        self.patience = patience
    }

    mutating func begin(_ now: ContinuousClock.Instant) {
        if underWay == 0 { hear(now) }
        underWay += 1
    }

    /// A call has ended with an answer, which saved so many lines.
    mutating func end(saving count: Int, _ now: ContinuousClock.Instant) {
        underWay -= 1
        saved += count
        hear(now)
    }

    private mutating func hear(_ now: ContinuousClock.Instant) {
        (lastAnswer, lastTold, lost) = (now, nil, nil)
    }

    mutating func step(isConnected: Bool, _ now: ContinuousClock.Instant) -> Step {
        guard underWay > 0, let lastAnswer else { return .wait }
        lost = isConnected ? nil : lost ?? now
        if let lost, now - lost >= patience { return .giveUp }
        let silence = now - lastAnswer
        guard silence >= ImportWait.firstSilence,
            lastTold.map({ now - $0 >= ImportWait.pause }) ?? true
        else { return .wait }
        lastTold = now
        return .tell(silence)
    }
}

/// Looks after an import while its calls are under way.
final class ImportWatch: Sendable {
    private let wait: Mutex<ImportWait>
    /// Whether programs read what it says.
    private let isJSON: Bool

    init(patience: Duration, isJSON: Bool) {
        wait = Mutex(ImportWait(patience: patience))
        self.isJSON = isJSON
    }

    func begin() { wait.withLock { $0.begin(.now) } }

    /// Told by the call itself: the reader of the file may be waiting for more lines.
    func end(saving count: Int) { wait.withLock { $0.end(saving: count, .now) } }

    /// The lines that are saved, also where their calls' outcomes are not looked at yet.
    var saved: Int { wait.withLock { $0.saved } }

    /// Returns when it is cancelled; throws why no node can be reached when it gives up.
    func run(_ database: Database) async throws {
        while !Task.isCancelled {
            let problem = database.connectionProblem
            let (step, saved) = wait.withLock { wait in
                (wait.step(isConnected: problem == nil, .now), wait.saved)
            }
            switch step {
            case .wait: break
            case .tell(let silence): tell(silence, problem, saved)
            case .giveUp: if let problem { throw problem }
            }
            try? await Task.sleep(for: .milliseconds(250))
        }
    }

    private func tell(_ silence: Duration, _ problem: ServiceError?, _ saved: Int) {
        let seconds = Int(silence / .seconds(1))
        let reason = problem?.message ?? "the node is connected, and has not answered"
        let text =
            "waiting, without an answer for \(seconds) s: \(reason); "
            + "\(counted(saved, "line")) saved so far"
        ProgressBar.makeRoom()
        guard isJSON else { return complain(text) }
        let members: JSON = ["message": .string(text), "saved": .integer(Int64(saved))]
        writeToStandardError(JSON.object([JSON.Member("waiting", members)]).text + "\n")
    }
}

extension ServiceError {
    /// The error that ends an import, with what is saved and how to go on.
    func ofImport(saved: Int) -> ServiceError {
        // Where the node was not there from the beginning, or lets nobody in, that says it all.
        guard saved > 0 || mayPass else { return self }
        var error = self
        error.message += "; \(counted(saved, "line")) \(saved == 1 ? "is" : "are") saved"
        if mayPass {
            error.message += """
                : run the same import again when the node is back, or at another node of the \
                cluster (--endpoint) if it stays away; what is saved already stays as it is, and \
                --timeout SECONDS waits longer
                """
        }
        return error
    }
}
