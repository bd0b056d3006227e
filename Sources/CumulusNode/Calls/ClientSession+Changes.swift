// The calls that fetch changes: the token that comes is opened, and the one that goes is sealed.
//
// Called by `ClientSession+Calls`. A call waits until this node has read what its token covers,
// like one that brings a causal token.

import CumulusModel
import CumulusOperations
import CumulusWire

extension ClientSession {
    func fetchDatabaseChanges(_ call: Call) throws {
        let request = try FetchDatabaseChangesRequest(wire: call.message)
        let scope = try callScope(call.header)
        let token = try changeToken(request.token, scope, call)
        let fetch = try RequestParser(caller: identity.caller, limits: limits)
            .databaseChanges(request, since: token)
        guard reaches(token?.needed, call) else { return }
        readFromDisk(call.stream, scope) { session, number, caller, view in
            let page = try fetch.run(scope, number, by: caller, in: view.reader)
            return Page(message: Answers.changes(page, token: session.node.mint.make(page.token)))
        }
    }

    func fetchZoneChanges(_ call: Call) throws {
        let request = try FetchZoneChangesRequest(wire: call.message)
        let scope = try callScope(call.header)
        let token = try changeToken(request.token, scope, call)
        let fetch = try RequestParser(caller: identity.caller, limits: limits)
            .zoneChanges(request, since: token)
        guard reaches(token?.needed, call) else { return }
        readFromDisk(call.stream, scope) { session, number, caller, view in
            let page = try fetch.run(scope, number, by: caller, in: view.reader)
            return Page(
                message: Answers.changes(
                    page,
                    of: fetch.zone,
                    token: session.node.mint.make(page.token)
                )
            )
        }
    }

    /// What a token says; nil for none.
    ///
    /// One of another scope is refused before this one's vector is asked: they can't be compared.
    private func changeToken(
        _ bytes: Bytes,
        _ scope: ScopeID,
        _ call: Call
    ) throws(ServiceError) -> ChangeToken? {
        guard !bytes.isEmpty else { return nil }
        guard let token = node.mint.changes(bytes) else {
            throw .tokenExpired("no node of this cluster made it, or it is damaged")
        }
        try token.check(scope)
        // Where there are others, what it covers may be on its way.
        let hasWaited = calls[call.stream]?.hasWaited ?? false
        if node.isAlone || hasWaited, isLost(token.needed, since: token.truncation) {
            throw .tokenExpired("what it covers was lost when the server went back to a backup")
        }
        return token
    }
}
