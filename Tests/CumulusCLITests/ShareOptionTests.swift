// Commands read the people whom a share lets in, and show a share.

import ArgumentParser
import Cumulus
import CumulusModel
import Foundation
import Testing

@testable import CumulusCLI

@Suite struct ShareOptionTests {
    private func parse<Command: ParsableCommand>(
        _ words: String...,
        as type: Command.Type
    ) throws -> Command {
        try #require(try Main.parseAsRoot(["share"] + words) as? Command)
    }

    @Test func peopleAreNamedInThreeWays() throws {
        let user = "_0123456789abcdef0123456789abcdef"
        let create = try parse(
            "create",
            "Trips",
            "--reader",
            "ada@example.org",
            "--writer",
            "+49301234567",
            "--administrator",
            user,
            "--title",
            "Our trips",
            as: ShareCommand.Create.self
        )
        #expect(create.zone == "Trips" && create.title == "Our trips" && create.root == nil)
        #expect(create.publicPermission == .none)
        var share = Share(recordZoneID: RecordZone.ID(zoneName: "Trips"))
        create.invitations.add(to: &share)
        let people = share.participants
        #expect(people.map(\.role) == [.privateUser, .privateUser, .administrator])
        #expect(people.map(\.permission) == [.readOnly, .readWrite, .readWrite])
        #expect(people[0].lookupInfo == .emailAddress("ada@example.org"))
        #expect(people[1].lookupInfo == .phoneNumber("+49301234567"))
        #expect(people[2].userRecordID?.recordName == user && people[2].lookupInfo == nil)
    }

    /// However the address is spelled.
    @Test(arguments: [
        ["--reader", "ada@example.org", "--writer", "ADA@example.org"],
        ["--writer", "+49301234567", "--administrator", "+49 30 1234567"],
        ["--reader", "_0123", "--reader", "_0123"],
    ])
    func onePersonIsInvitedOnce(words: [String]) throws {
        for command in ["create", "add"] {
            let error = #expect(throws: (any Error).self) {
                try Main.parseAsRoot(["share", command, "Trips"] + words)
            }
            #expect(Main.message(for: try #require(error)).contains("is named twice"))
        }
    }

    /// Inviting a user again changes its permission and adds no second participant.
    @Test func whoIsInvitedAgainIsOneParticipant() throws {
        var share = Share(recordZoneID: RecordZone.ID(zoneName: "Trips"))
        for kind in ["--reader", "--writer"] {
            let add = try parse("add", "Trips", kind, "a@example.org", as: ShareCommand.Add.self)
            add.invitations.add(to: &share)
        }
        #expect(share.participants.map(\.permission) == [.readWrite])
    }

    /// A user who joined by the URL has the public permission: the command says how to change that.
    @Test func nobodyNewIsInvitedToAnOpenShare() throws {
        let add = try parse(
            "add",
            "Trips",
            "--writer",
            "ada@example.org",
            as: ShareCommand.Add.self
        )
        var share = Share(recordZoneID: RecordZone.ID(zoneName: "Trips"))
        try add.invitations.check(share)
        share.publicPermission = .readOnly
        let error = #expect(throws: ServiceError.self) { try add.invitations.check(share) }
        #expect(error?.code == .invalidArguments)
        #expect(error?.message.contains("'cumulus share set Trips --public none'") == true)
        // A participant who was invited before can be changed.
        add.invitations.add(to: &share)
        try add.invitations.check(share)
    }

    @Test(arguments: [
        ["create", "Trips", "--reader", "ada"], ["create", "Trips", "--public", "all"],
        ["create", "Trips", "--public", "readOnly", "--writer", "ada@example.org"], ["create"],
        ["set", "Trips"], ["add", "Trips"], ["remove", "Trips"], ["remove", "Trips", "ada"],
        ["leave", "Trips"], ["accept"], ["metadata"], ["stop"],
        ["list", "--operator-token-file", "t"], ["list", "--user", "ada", "--token", "t"],
        ["list", "--user", "ada", "--database", "shared"],
        ["stop", "Trips", "--user", "ada", "--replicas", "1"], ["stop", "Trips", "--owner", "_a"],
        ["list", "--owner", "_a"],
    ])
    func whatIsMissingOrWrongIsRefused(words: [String]) {
        #expect(throws: (any Error).self) { try Main.parseAsRoot(["share"] + words) }
    }

    /// A share of another user is left, which the refusal says.
    @Test func ownersStopTheirOwnSharesOnly() throws {
        let help = Main.helpMessage(for: ShareCommand.Stop.self, columns: 400)
        #expect(!help.contains("--owner") && help.contains("--root"))
        let words = ["share", "stop", "Trips", "--owner", "_a"]
        let error = #expect(throws: (any Error).self) { try Main.parseAsRoot(words) }
        #expect(Main.message(for: try #require(error)).contains("cumulus share leave"))
    }

    /// An operator names the user, and the environment like a user.
    @Test func anOperatorAsksAboutAUser() throws {
        let words = ["--user", "ada", "--container", "iCloud.notes", "--environment", "production"]
        let list = try #require(
            try Main.parseAsRoot(["share", "list"] + words) as? ShareCommand.List
        )
        #expect(list.others.user == "ada")
        #expect(list.connection.user.scope.containerName == "iCloud.notes")
        let stop = try #require(
            try Main.parseAsRoot(["share", "stop", "Trips", "--root", "oslo"] + words)
                as? ShareCommand.Stop
        )
        #expect(stop.others.user == "ada" && stop.target.root == "oslo")
    }

    @Test(arguments: ["https://example.org/share/AAAAAAAAAAAAAAAAAAAAAA", "cumulus:/share/A"])
    func aURLIsTakenAsItIs(text: String) throws {
        let accept = try parse("accept", text, as: ShareCommand.Accept.self)
        #expect(try accept.url.value().absoluteString == text)
    }

    @Test func permissionsAreThoseOfApps() throws {
        for permission in SharePermission.allCases {
            #expect("\(permission.permission)" == permission.rawValue)
        }
    }

    // MARK: What is shown

    @Test func aShareIsShownForPeopleAndPrograms() throws {
        let zone = RecordZone.ID(zoneName: "Trips")
        let id = Record.ID(recordName: "oslo", zoneID: zone)
        let root = Record(recordType: "Note", recordID: id)
        let shareID = Record.ID(recordName: "share", zoneID: zone)
        var share = Share(rootRecord: root, shareID: shareID)
        share.title = "Our trips"
        share.publicPermission = .readOnly
        let ada = UserIdentity.LookupInfo.emailAddress("ada@example.org")
        share.addParticipant(Share.Participant(lookupInfo: ada, permission: .readWrite))
        let person = #"""
            {"handle": "ada@example.org", "role": "privateUser", "permission": "readWrite", \#
            "status": "pending", "isCurrentUser": false}
            """#
        #expect(
            share.json.text == #"""
                {"recordName": "share", "zoneName": "Trips", "root": "oslo", \#
                "title": "Our trips", "publicPermission": "readOnly", \#
                "participants": [\#(person)]}
                """#
        )
        #expect(
            share.rows == [
                ["zone", "Trips"], ["root", "oslo"], ["title", "Our trips"],
                ["public", "readOnly"],
                ["participant", "ada@example.org (privateUser, readWrite, pending)"],
            ]
        )
        #expect(share.row == ["Trips", "", "oslo", "readOnly", "1", "Our trips", ""])
    }
}
