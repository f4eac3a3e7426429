/* Sends 20 datagrams of audio over UDP, or receives them.
 *
 * receiver:  send listen 0.0.0.0:5004           prints its port and fingerprint
 * sender:    send HOST:PORT FINGERPRINT
 */
#include <headway.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATAGRAMS 20
#define LIFETIME_US 10000000 /* 10 s; in a call, 150 ms */

static void check(HeadwayCode code) {
    if (code != HEADWAY_CODE_OK) {
        fprintf(stderr, "send: %s\n", headway_last_error());
        exit(1);
    }
}

static void receive_audio(const char *address) {
    HeadwayOptions *options;
    HeadwayEndpoint *endpoint;
    HeadwayConnection *connection;
    char fingerprint[HEADWAY_FINGERPRINT_SIZE];
    uint16_t port;
    check(headway_options_server(&options));
    check(headway_options_fingerprint(options, fingerprint, sizeof fingerprint));
    check(headway_listen(options, address, &endpoint));
    headway_options_free(options);
    check(headway_endpoint_port(endpoint, &port));
    printf("%d %s\n", port, fingerprint);
    fflush(stdout);

    check(headway_accept(endpoint, HEADWAY_UNLIMITED, &connection));
    uint8_t datagram[65535];
    size_t length, received = 0;
    HeadwayCode code;
    while ((code = headway_receive(connection, HEADWAY_UNLIMITED, datagram, sizeof datagram, &length)) == HEADWAY_CODE_OK)
        received += 1;
    printf("%zu datagrams received: %s\n", received, headway_last_error());
    headway_close(connection, NULL);
    headway_endpoint_free(endpoint);
}

static void send_audio(const char *address, const char *fingerprint) {
    HeadwayOptions *options;
    HeadwayEndpoint *endpoint;
    HeadwayConnection *connection;
    check(headway_options_client(&options));
    check(headway_options_trust(options, fingerprint));
    check(headway_open(options, &endpoint));
    headway_options_free(options);
    check(headway_connect(endpoint, address, &connection));
    check(headway_connected(connection));

    uint8_t audio[160] = {0};
    for (int n = 0; n < DATAGRAMS; n++)
        check(headway_send(connection, audio, sizeof audio, HEADWAY_KIND_AUDIO, 0, LIFETIME_US, NULL));

    /* Each datagram has one event when it is sent, and a last one: delivered, lost, discarded. */
    int delivered = 0;
    for (int ended = 0; ended < DATAGRAMS;) {
        HeadwayEvent event = {.size = sizeof event};
        check(headway_next_event(connection, HEADWAY_UNLIMITED, &event));
        if (event.kind == HEADWAY_EVENT_KIND_RATE)
            printf("encoder rate: %llu bit/s\n", (unsigned long long)event.rate);
        if (event.kind == HEADWAY_EVENT_KIND_DATAGRAM && event.fate != HEADWAY_FATE_SENT)
            ended += 1;
        if (event.fate == HEADWAY_FATE_DELIVERED)
            delivered += 1;
        if (event.kind == HEADWAY_EVENT_KIND_CLOSED)
            break;
    }
    printf("%d of %d datagrams delivered\n", delivered, DATAGRAMS);
    headway_close(connection, NULL);
    headway_endpoint_free(endpoint);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: send listen ADDRESS | send ADDRESS FINGERPRINT\n");
        return 2;
    }
    if (strcmp(argv[1], "listen") == 0)
        receive_audio(argv[2]);
    else
        send_audio(argv[1], argv[2]);
    return 0;
}
