/* Calls each function of headway.h with wrong arguments, and then sends datagrams between two
 * endpoints of this program. */
#include <headway.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                                        \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, headway_last_error());    \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)
#define OK(call) EXPECT((call) == HEADWAY_CODE_OK)
#define NULL_POINTER(call) EXPECT((call) == HEADWAY_CODE_NULL_POINTER)
#define INVALID(call) EXPECT((call) == HEADWAY_CODE_INVALID_ARGUMENT)

static void options_are_checked(void) {
    HeadwayOptions *server, *client, *insecure;
    HeadwayEndpoint *endpoint;
    char text[HEADWAY_FINGERPRINT_SIZE];
    EXPECT(strcmp(headway_last_error(), "") == 0);
    EXPECT(strlen(headway_version()) >= 5);
    NULL_POINTER(headway_options_server(NULL));
    NULL_POINTER(headway_options_client(NULL));
    NULL_POINTER(headway_options_insecure(NULL));
    OK(headway_options_server(&server));
    OK(headway_options_client(&client));
    OK(headway_options_insecure(&insecure));

    NULL_POINTER(headway_options_set_controller(NULL, "tfrc"));
    NULL_POINTER(headway_options_set_controller(server, NULL));
    INVALID(headway_options_set_controller(server, "cubic"));
    EXPECT(strstr(headway_last_error(), "\"cubic\" is unknown"));
    INVALID(headway_options_set_controller(server, "\xff"));
    OK(headway_options_set_controller(server, "tfrc"));
    NULL_POINTER(headway_options_set_send_queue(NULL, "fifo"));
    NULL_POINTER(headway_options_set_send_queue(server, NULL));
    INVALID(headway_options_set_send_queue(server, ""));
    OK(headway_options_set_send_queue(server, "fifo"));
    NULL_POINTER(headway_options_set_identity(NULL, ""));
    NULL_POINTER(headway_options_set_identity(server, NULL));
    INVALID(headway_options_set_identity(server, "no PEM"));
    NULL_POINTER(headway_options_set_port(NULL, 1));
    NULL_POINTER(headway_options_trust(NULL, "AB"));
    NULL_POINTER(headway_options_trust(client, NULL));
    INVALID(headway_options_trust(client, "AB"));
    NULL_POINTER(headway_options_trust_any(NULL));
    INVALID(headway_options_trust_any(insecure));

    NULL_POINTER(headway_options_fingerprint(NULL, text, sizeof text));
    NULL_POINTER(headway_options_fingerprint(server, NULL, sizeof text));
    INVALID(headway_options_fingerprint(server, text, SIZE_MAX));
    INVALID(headway_options_fingerprint(insecure, text, sizeof text));
    EXPECT(headway_options_fingerprint(server, text, sizeof text - 1) == HEADWAY_CODE_BUFFER_TOO_SMALL);
    EXPECT(headway_options_fingerprint(server, NULL, 0) == HEADWAY_CODE_BUFFER_TOO_SMALL);
    OK(headway_options_fingerprint(server, text, sizeof text));
    EXPECT(strlen(text) == sizeof text - 1);
    OK(headway_options_trust(client, text));

    NULL_POINTER(headway_open(NULL, &endpoint));
    NULL_POINTER(headway_open(client, NULL));
    NULL_POINTER(headway_listen(NULL, "127.0.0.1:0", &endpoint));
    NULL_POINTER(headway_listen(server, NULL, &endpoint));
    NULL_POINTER(headway_listen(server, "127.0.0.1:0", NULL));
    INVALID(headway_listen(server, "127.0.0.1", &endpoint));
    /* 192.0.2.1 is an address of documentation, which no host has. */
    EXPECT(headway_listen(server, "192.0.2.1:0", &endpoint) == HEADWAY_CODE_SYSTEM);
    headway_options_free(NULL);
    headway_options_free(server);
    headway_options_free(client);
    headway_options_free(insecure);
}

static void endpoints_are_checked(HeadwayEndpoint *server, HeadwayEndpoint *client) {
    HeadwayConnection *connection;
    uint16_t port;
    NULL_POINTER(headway_endpoint_port(NULL, &port));
    NULL_POINTER(headway_endpoint_port(server, NULL));
    NULL_POINTER(headway_connect(NULL, "127.0.0.1:5004", &connection));
    NULL_POINTER(headway_connect(client, NULL, &connection));
    NULL_POINTER(headway_connect(client, "127.0.0.1:5004", NULL));
    INVALID(headway_connect(client, "127.0.0.1:", &connection));
    EXPECT(headway_connect(client, "127.0.0.1:0", &connection) == HEADWAY_CODE_SYSTEM);
    NULL_POINTER(headway_accept(NULL, 0, &connection));
    NULL_POINTER(headway_accept(server, 0, NULL));
    INVALID(headway_accept(client, 0, &connection));
    EXPECT(headway_accept(server, 0, &connection) == HEADWAY_CODE_TIMEOUT);
    headway_endpoint_free(NULL);
}

static void connections_are_checked(HeadwayConnection *connection) {
    uint8_t byte = 7, room[8];
    size_t length;
    uint64_t rate;
    HeadwayEvent event = {.size = sizeof event - 1};
    HeadwayStatistics statistics = {.size = 0};
    NULL_POINTER(headway_connected(NULL));
    NULL_POINTER(headway_send(NULL, &byte, 1, HEADWAY_KIND_DATA, 0, HEADWAY_UNLIMITED, NULL));
    NULL_POINTER(headway_send(connection, NULL, 1, HEADWAY_KIND_DATA, 0, HEADWAY_UNLIMITED, NULL));
    INVALID(headway_send(connection, &byte, SIZE_MAX, HEADWAY_KIND_DATA, 0, HEADWAY_UNLIMITED, NULL));
    INVALID(headway_send(connection, &byte, 1, 6, 0, HEADWAY_UNLIMITED, NULL));
    INVALID(headway_send(connection, &byte, 1, -1, 0, HEADWAY_UNLIMITED, NULL));
    NULL_POINTER(headway_receive(NULL, 0, room, sizeof room, &length));
    NULL_POINTER(headway_receive(connection, 0, NULL, sizeof room, &length));
    NULL_POINTER(headway_receive(connection, 0, room, sizeof room, NULL));
    NULL_POINTER(headway_next_event(NULL, 0, &event));
    NULL_POINTER(headway_next_event(connection, 0, NULL));
    INVALID(headway_next_event(connection, 0, &event));
    NULL_POINTER(headway_encoder_rate(NULL, &rate));
    NULL_POINTER(headway_encoder_rate(connection, NULL));
    OK(headway_encoder_rate(connection, &rate));
    NULL_POINTER(headway_largest(NULL, &length));
    NULL_POINTER(headway_largest(connection, NULL));
    NULL_POINTER(headway_statistics(NULL, &statistics));
    NULL_POINTER(headway_statistics(connection, NULL));
    INVALID(headway_statistics(connection, &statistics));
    NULL_POINTER(headway_start_close(NULL));
    headway_close(NULL, NULL);
}

/* A program of a newer version has larger structures. */
static void structures_may_grow(HeadwayConnection *connection) {
    struct {
        HeadwayStatistics known;
        uint64_t appended;
    } newer = {{.size = sizeof newer}, 42};
    OK(headway_statistics(connection, &newer.known));
    EXPECT(newer.known.size == sizeof(HeadwayStatistics));
    EXPECT(newer.appended == 42 && newer.known.acknowledged_packets > 0);
}

static void *wait_for_datagram(void *connection) {
    uint8_t byte;
    size_t length;
    EXPECT(headway_receive(connection, HEADWAY_UNLIMITED, &byte, 1, &length) == HEADWAY_CODE_CLOSED);
    EXPECT(strcmp(headway_last_error(), "the connection was closed here") == 0);
    return NULL;
}

static void datagrams_arrive(HeadwayConnection *sender, HeadwayConnection *receiver) {
    uint8_t payload[] = {1, 2, 3}, room[3];
    size_t length, largest;
    uint64_t number;
    OK(headway_largest(sender, &largest));
    EXPECT(largest > 500 && largest < 65536);
    OK(headway_send(sender, payload, 3, HEADWAY_KIND_VIDEO_I, 1, 60000000, &number));
    EXPECT(number == 0);
    EXPECT(headway_receive(receiver, HEADWAY_UNLIMITED, room, 2, &length) == HEADWAY_CODE_BUFFER_TOO_SMALL);
    EXPECT(length == 3);
    OK(headway_receive(receiver, 0, room, 3, &length));
    EXPECT(length == 3 && memcmp(room, payload, 3) == 0);
    OK(headway_send(sender, NULL, 0, HEADWAY_KIND_DATA, 0, HEADWAY_UNLIMITED, &number));
    EXPECT(number == 1);
    OK(headway_receive(receiver, HEADWAY_UNLIMITED, NULL, 0, &length));
    EXPECT(length == 0);
    EXPECT(headway_receive(receiver, 0, room, 3, &length) == HEADWAY_CODE_TIMEOUT);
}

static void the_end_has_a_reason(HeadwayConnection *sender, HeadwayConnection *receiver) {
    HeadwayEvent event = {.size = sizeof event};
    HeadwayStatistics statistics = {.size = sizeof statistics};
    HeadwayReason reason;
    uint8_t byte = 0;
    size_t length;
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, wait_for_datagram, sender) == 0);
    OK(headway_start_close(sender));
    EXPECT(pthread_join(thread, NULL) == 0);
    do {
        OK(headway_next_event(receiver, HEADWAY_UNLIMITED, &event));
    } while (event.kind != HEADWAY_EVENT_KIND_CLOSED);
    EXPECT(event.reason == HEADWAY_REASON_PEER);
    EXPECT(strcmp(headway_last_error(), "the peer closed the connection") == 0);
    EXPECT(headway_next_event(receiver, HEADWAY_UNLIMITED, &event) == HEADWAY_CODE_CLOSED);
    EXPECT(headway_receive(receiver, HEADWAY_UNLIMITED, &byte, 1, &length) == HEADWAY_CODE_CLOSED);
    EXPECT(headway_send(sender, &byte, 1, HEADWAY_KIND_DATA, 0, 0, NULL) == HEADWAY_CODE_CLOSED);
    EXPECT(headway_statistics(sender, &statistics) == HEADWAY_CODE_CLOSED);
    EXPECT(headway_connected(sender) == HEADWAY_CODE_CLOSED);
    headway_close(receiver, NULL);
    headway_close(sender, &reason);
    EXPECT(reason == HEADWAY_REASON_HERE);
}

int main(void) {
    HeadwayOptions *options;
    HeadwayEndpoint *server, *client;
    HeadwayConnection *sender, *receiver;
    char address[32];
    uint16_t port;
    options_are_checked();
    OK(headway_options_insecure(&options));
    OK(headway_options_set_port(options, 7));
    OK(headway_listen(options, "127.0.0.1:0", &server));
    OK(headway_open(options, &client));
    headway_options_free(options);
    endpoints_are_checked(server, client);
    OK(headway_endpoint_port(server, &port));
    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    OK(headway_connect(client, address, &sender));
    OK(headway_accept(server, HEADWAY_UNLIMITED, &receiver));
    OK(headway_connected(sender));
    connections_are_checked(receiver);
    datagrams_arrive(sender, receiver);
    structures_may_grow(sender);
    the_end_has_a_reason(sender, receiver);
    headway_endpoint_free(client);
    headway_endpoint_free(server);
    puts("all calls as expected");
    return 0;
}
