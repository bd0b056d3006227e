// What has to hold of a server before anything is stored in it: judged on values.
//
// Called by `Opening`, which asks the server.

struct ServerCheck: Equatable {
    /// Whether the server follows another one.
    var isStandby = false
    /// Whether commits reach the disk before they are answered.
    var flushes = true
    /// Whether a page that a power cut tears is mended.
    var writesFullPages = true
    /// Whether there are tables of ours.
    var hasTables = false

    static let question = Statement(
        name: "check",
        text: """
            SELECT pg_is_in_recovery(), current_setting('fsync') = 'on',
                current_setting('full_page_writes') = 'on', to_regclass('cumulus_site') IS NOT NULL
            """
    )

    /// Why the server can't be used; nil if it can.
    func problem(at place: String) -> PostgresError? {
        if isStandby { return .standby(place: place) }
        if !flushes { return .notDurable(place: place, setting: "fsync") }
        if !writesFullPages { return .notDurable(place: place, setting: "full_page_writes") }
        return nil
    }
}

extension ServerCheck {
    /// Reads the answer to `question`.
    init(_ answer: Answer) {
        isStandby = answer.isTrue(0, 0)
        flushes = answer.isTrue(0, 1)
        writesFullPages = answer.isTrue(0, 2)
        hasTables = answer.isTrue(0, 3)
    }
}
