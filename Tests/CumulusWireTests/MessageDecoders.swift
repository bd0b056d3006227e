// Our decoder of every message that one exists for, by the name of the message.

import CumulusModel
import CumulusWire

enum MessageDecoders {
    typealias Decode = @Sendable (Bytes) throws -> Void

    static let all: [String: Decode] = [
        "Hello": { _ = try Hello(wire: $0) },
        "ServerHello": { _ = try ServerHello(wire: $0) },
        "CallHeader": { bytes in
            var payload = CanonicalWriter()
            payload.delimited(bytes)
            _ = try CallHeader.split(payload.bytes)
        },
        "Drain": { _ = try DrainNotice(wire: $0) },
        "Status": { _ = try ServiceError(wire: $0) },
        "FetchRecordsRequest": { _ = try FetchRecordsRequest(wire: $0) },
        "FetchRecordsResponse": { _ = try FetchRecordsResponse.results(wire: $0) },
        "ModifyRecordsRequest": { _ = try NodeModifyRecordsRequest(wire: $0) },
        "ModifyRecordsResponse": { _ = try ModifyRecordsResponse(wire: $0) },
        "ListRecordsRequest": { _ = try ListRecordsRequest(wire: $0) },
        "ListConflictsResponse": { _ = try ListConflictsResponse.conflicts(wire: $0) },
        "ListRecordsResponse": { _ = try ListRecordsResponse.records(wire: $0) },
        "ListZonesRequest": { _ = try ListZonesRequest.database(wire: $0) },
        "ListZonesResponse": { _ = try ListZonesResponse.zones(wire: $0) },
        "FetchZonesRequest": { _ = try FetchZonesRequest(wire: $0) },
        "FetchZonesResponse": { _ = try FetchZonesResponse.results(wire: $0) },
        "ModifyZonesRequest": { _ = try ModifyZonesRequest(wire: $0) },
        "ModifyZonesResponse": { _ = try ModifyZonesResponse(wire: $0) },
        "FetchDatabaseChangesRequest": { _ = try FetchDatabaseChangesRequest(wire: $0) },
        "FetchDatabaseChangesResponse": { _ = try FetchDatabaseChangesResponse(wire: $0) },
        "FetchZoneChangesRequest": { _ = try FetchZoneChangesRequest(wire: $0) },
        "FetchZoneChangesResponse": { _ = try FetchZoneChangesResponse(wire: $0) },
        "ReadSchemaResponse": { _ = try ReadSchemaResponse.ckdb(wire: $0) },
        "ImportSchemaRequest": { _ = try ImportSchemaRequest(wire: $0) },
        "ImportSchemaResponse": { _ = try SchemaChanges.changes(wire: $0) },
        "DeploySchemaRequest": { _ = try DeploySchemaRequest.onlyShows(wire: $0) },
        "ResetSchemaRequest": { _ = try ResetSchemaRequest.onlyShows(wire: $0) },
        "ResetSchemaResponse": { _ = try ResetSchemaResponse(wire: $0) },
        "IndexesRequest": { _ = try IndexesRequest(wire: $0) },
        "IndexesResponse": { _ = try WireIndex.list(wire: $0) },
        "DeploySchemaResponse": { _ = try SchemaChanges.changes(wire: $0) },
        "QueryRecordsRequest": { _ = try QueryRecordsRequest(wire: $0) },
        "QueryRecordsResponse": { _ = try QueryRecordsResponse(wire: $0) },
        "WhoAmIResponse": { _ = try WireCaller(wire: $0) },
        "NodeStatusResponse": { _ = try NodeStatus(wire: $0) },
        "ListContainersResponse": { _ = try OperatorMessages.containers(wire: $0) },
        "CreateContainerRequest": { _ = try OperatorMessages.containerName(wire: $0) },
        "CreateContainerResponse": { _ = try OperatorMessages.containerExisted(wire: $0) },
        "ListUsersResponse": { _ = try OperatorMessages.users(wire: $0) },
        "AddUserRequest": { _ = try OperatorMessages.newUserName(wire: $0) },
        "AddUserResponse": { _ = try OperatorMessages.addedUser(wire: $0) },
        "AddTokenRequest": { _ = try OperatorMessages.tokenUserName(wire: $0) },
        "PullRequest": { _ = try PullRequest(wire: $0) },
        "PullResponse": { _ = try PullResponse(wire: $0) },
        "ZoneStatusResponse": { _ = try WireZoneStatus.list(wire: $0) },
        "ListMembersResponse": { _ = try OperatorMessages.members(wire: $0) },
        "RemoveMemberRequest": { _ = try OperatorMessages.removedMember(wire: $0) },
        "RemoveMemberResponse": { _ = try OperatorMessages.memberExisted(wire: $0) },
        "BackUpRequest": { _ = try OperatorMessages.backUpPath(wire: $0) },
        "BackUpResponse": { _ = try OperatorMessages.backUp(wire: $0) },
        "TruncateResponse": { _ = try OperatorMessages.truncated(wire: $0) },
        "ListMergePoliciesResponse": { _ = try WireMergePolicy.list(wire: $0) },
        "SetMergePolicyRequest": { _ = try WireMergePolicy(wire: $0) },
        "SetMergePolicyResponse": { _ = try WireMergePolicy.existed(wire: $0) },
        "VerifyRequest": { _ = try VerifyRequest(wire: $0) },
        "VerifyResponse": { _ = try WireVerdict(wire: $0) },
        "ReportRequest": { _ = try ReportRequest(wire: $0) },
        "StateRequest": { _ = try StateRequest(wire: $0) },
        "StateResponse": { _ = try StateResponse(wire: $0) },
        "AddTokenResponse": { _ = try OperatorMessages.token(wire: $0) },
    ]
}
