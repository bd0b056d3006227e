// `cumulus user handle` and `cumulus user profile`: how other users find a user.

import ArgumentParser
import Cumulus
import CumulusTerminal

struct HandleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "handle",
        abstract: "Give users e-mail addresses and telephone numbers, take them away, list them.",
        discussion: help(
            "cumulus user handle add alice alice@example.org",
            "cumulus user handle list alice --json"
        ),
        subcommands: [Add.self, Remove.self, List.self]
    )

    static let note = """
        By a handle, other users find this one if its profile is discoverable: 'cumulus user \
        profile'. Case and composition of letters make no difference. Nothing is sent to an \
        address: verify it before.
        """
}

/// The user, and the handle that it gets or loses.
struct HandleArguments: ParsableArguments {
    @Argument(help: "Name of the user.") var user: String
    @Argument(help: "An e-mail address, or a telephone number that begins with +.")
    var handle: String
    @OptionGroup var connection: OperatorConnection
    @OptionGroup var output: OutputOptions

    func set(isHeld: Bool) async throws {
        let info: UserIdentity.LookupInfo =
            handle.hasPrefix("+") ? .phoneNumber(handle) : .emailAddress(handle)
        let (existed, isMoved) = try await connection.withOperator {
            try await $0.setHandle(info, of: user, isHeld: isHeld)
        }
        let state =
            switch (isHeld, existed) {
            case (true, true): "was the user's already"
            case (true, false): isMoved ? "moved from another user" : "added"
            case (false, true): "removed"
            case (false, false): "was not the user's"
            }
        try output.show(
            [
                "user": .string(user), "handle": .string(handle), "existed": .bool(existed),
                "moved": .bool(isMoved),
            ],
            rows: [["user", user], ["handle", handle], ["state", state]]
        )
    }
}

extension HandleCommand {
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give a handle to a user; another one who has it loses it.",
            discussion: help(
                "cumulus user handle add alice alice@example.org",
                "cumulus user handle add alice \"+49 30 1234567\" --json",
                note: HandleCommand.note
            )
        )

        @OptionGroup var arguments: HandleArguments

        func run() async throws {
            try await arguments.set(isHeld: true)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take a handle away from a user.",
            discussion: help(
                "cumulus user handle remove alice alice@example.org",
                note: "If another node gives it at the same time, it stays taken away."
            )
        )

        @OptionGroup var arguments: HandleArguments

        func run() async throws {
            try await arguments.set(isHeld: false)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the handles of a user.",
            discussion: help("cumulus user handle list alice --json", note: HandleCommand.note)
        )

        @Argument(help: "Name of the user.") var user: String
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let handles = try await connection.withOperator {
                try await $0.profile(of: user).handles
            }
            try output.show(
                handles,
                columns: ["KIND", "HANDLE", "VERIFIED BY"],
                json: {
                    [
                        "kind": .string($0.handle.kind), "handle": .string($0.handle.text),
                        "verifiedBy": .string($0.verifiedBy),
                    ]
                },
                row: { [$0.handle.kind, $0.handle.text, $0.verifiedBy] }
            )
        }
    }
}

struct ProfileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile",
        abstract: "Show what a user says of itself, or set it.",
        discussion: help(
            "cumulus user profile alice",
            "cumulus user profile alice --display-name \"Alice A.\" --discoverable yes",
            note: """
                Users who are discoverable are found by their handles and their records, with \
                their display name. Others can't be told from users who don't exist. What is not \
                named stays.
                """
        )
    )

    @Argument(help: "Name of the user.") var user: String
    @Option(help: "What others see; may be empty.") var displayName: String?
    @Option(help: "Whether others find the user: yes or no.")
    var discoverable: YesOrNo?
    @OptionGroup var connection: OperatorConnection
    @OptionGroup var output: OutputOptions

    enum YesOrNo: String, ExpressibleByArgument, CaseIterable {
        case yes
        case no
    }

    func run() async throws {
        let profile = try await connection.withOperator { node in
            var profile = try await node.profile(of: user).profile
            if let displayName { profile.displayName = displayName }
            if let discoverable { profile.isDiscoverable = discoverable == .yes }
            if displayName != nil || discoverable != nil {
                _ = try await node.setProfile(profile, of: user)
            }
            return profile
        }
        try output.show(
            [
                "user": .string(user), "displayName": .string(profile.displayName),
                "discoverable": .bool(profile.isDiscoverable),
            ],
            rows: [
                ["user", user], ["displayName", profile.displayName],
                ["discoverable", profile.isDiscoverable ? "yes" : "no"],
            ]
        )
    }
}

extension UserIdentity.LookupInfo {
    fileprivate var kind: String {
        switch self {
        case .emailAddress: "email"
        case .phoneNumber: "phone"
        case .userRecordID: "user"
        }
    }

    fileprivate var text: String {
        switch self {
        case .emailAddress(let text), .phoneNumber(let text): text
        case .userRecordID(let id): id.recordName
        }
    }
}
