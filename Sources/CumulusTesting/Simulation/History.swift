// A history: what befalls nodes, or parts of them, as a seed draws it, and whether what must hold
// holds.
//
// Each of `HistoryKind` is a type that keeps this protocol. `HistoryPlan.run` is called by
// `cumulus-sim` and by tests, and runs all of them. The same plan tells the same story.
//
// Folder: histories from seeds, how they are made and run, and histories of one file. Read
// `History`, then `HistoryPlan` and `Verdict`; other histories have folders of their own, and the
// folder Rules has the table of the rules that can be broken.

package protocol History {
    /// Steps of a history whose plan names no number.
    static var usualSteps: Int { get }
    /// Whether a violation ends it, since others would only follow from the first one.
    static var endsAtViolation: Bool { get }

    /// Sets it up.
    init(_ plan: HistoryPlan) throws

    /// Lets something happen, and looks at what has to hold at any time.
    ///
    /// One throw of dice decides who acts, what is handed on, and what fails.
    mutating func step() throws

    /// Ends all faults, and lets come to rest what is under way.
    mutating func settle() throws

    /// Looks at what has to hold in the end.
    mutating func check() throws

    /// The findings so far.
    var verdict: Verdict { get }
}

extension History {
    package static var endsAtViolation: Bool { false }

    /// Runs a history from its beginning to its last check.
    static func run(_ plan: HistoryPlan) throws -> Verdict {
        var history = try Self(plan)
        for _ in 0..<(plan.steps ?? usualSteps) {
            try history.step()
            if endsAtViolation, !history.verdict.violations.isEmpty { return history.verdict }
        }
        try history.settle()
        try history.check()
        return history.verdict
    }
}
