/* generate chat; see generate-chat(1) */
#ifndef GENERATE_CHAT_H
#define GENERATE_CHAT_H

int chat_main(int argc, char **argv);

#endif
