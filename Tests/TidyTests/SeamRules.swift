// Where clock and dice are let in: nowhere below the shell's `NodeEnvironment.swift`.
//
// Called by `SeamTests`. What a simulator can't replace would make two runs of one seed differ.

enum SeamRules {
    static let targets: Set = [
        "CumulusModel", "CumulusNode", "CumulusOperations", "CumulusStorage",
    ]

    /// The one file that may speak of the real clock and the real dice.
    static let seam = "NodeEnvironment.swift"

    /// The calls in a file's code that read the clock or roll the dice, as they stand there.
    static func violations(text: String) -> [String] {
        let clock = /\bDate\(\)|\bDate\.now\b|\b(?:Continuous|Suspending|System)Clock\b/
        let systemClock = /\bclock_gettime\b|\bgettimeofday\b|\b(?:NIODeadline|DispatchTime)\.now\b/
        // A sleep that names its clock uses the one it was given; so does a roll with its dice.
        let sleep = /\bTask\.sleep\((?![^\n]*clock:)/
        let dice = /\bSystemRandomNumberGenerator\b|\bUUID\(\)|\barc4random\w*|\bgetrandom\b/
        let roll = /\.(?:random|randomElement|shuffled?)\((?![^\n]*using:)/
        let code = code(of: text)
        return [clock, systemClock, sleep, dice, roll].flatMap { pattern in
            code.matches(of: pattern.wordBoundaryKind(.simple)).map { String($0.output) }
        }
    }
}
